//! Whatever the history: the presets keep every law.

use foldback_testkit::laws;

laws!(masking_10: "masking-10");
laws!(swe_agent_last_5: "swe-agent-last-5");

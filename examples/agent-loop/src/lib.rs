//! A tool-using agent with foldback in it: what an agent's author writes, and what foldback adds to it.
//!
//! | module | what |
//! |---|---|
//! | [`agent`] | the loop, with the ten lines of foldback |
//! | [`client`] | one request to an OpenAI-compatible endpoint, streamed, and what its failures mean |
//! | [`retry`] | how often and how long the agent waits where waiting helps |
//! | [`setup`] | from command-line values to a conversation |
//! | [`tools`] | read, search, edit, run |
//! | [`event`] | what there is to tell about a run, and how it is printed |

pub mod agent;
pub mod client;
pub mod event;
pub mod retry;
pub mod setup;
pub mod tools;

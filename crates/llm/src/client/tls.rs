//! TLS with ring, which builds with a C compiler alone, and with the certificates that the system trusts.
//!
//! The provider is named here and not installed for the whole process: an agent may have chosen another.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt as _;

pub(super) fn config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let versions =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(versions.with_platform_verifier()?.with_no_client_auth())
}

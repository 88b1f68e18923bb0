//! TLS of connections: rustls with ring, the system's certificates of authorities or those of a file.

use narrows_engines::{EngineError, ErrorKind};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;

/// Most bytes of a file of certificates: that of a whole system has a quarter of a MiB.
const CA_BYTES_MAX: u64 = 16 << 20;

/// How connections are secured: checked against the certificates in the file `ca_file`, or the system's.
///
/// # Errors
/// When there is no certificate to check against.
pub(super) fn tls_config(ca_file: Option<&str>, name: &str) -> Result<Arc<ClientConfig>, EngineError> {
    let refused = |kind, detail: String, hint: &str| {
        EngineError::new(kind, "prepare TLS for", name).detail(detail).hint(hint)
    };
    let certificates = match ca_file {
        Some(file) => from_file(file).map_err(|problem| {
            refused(
                ErrorKind::NotFound,
                format!("{file}: {problem}"),
                "give a file with certificates of authorities in PEM (ca=FILE, or AWS_CA_BUNDLE)",
            )
        })?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    // Some systems have certificates that this library does not read: the others are enough.
    let (added_count, _) = roots.add_parsable_certificates(certificates);
    if added_count == 0 {
        let hint = "install ca-certificates, or give a file of them (ca=FILE, or AWS_CA_BUNDLE)";
        return Err(refused(
            ErrorKind::NotFound,
            "no certificate of an authority was found".to_owned(),
            hint,
        ));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder =
        versions.map_err(|error| refused(ErrorKind::Unsupported, error.to_string(), "report this"))?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

fn from_file(file: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let facts = std::fs::metadata(file).map_err(|error| error.to_string())?;
    if !facts.is_file() || facts.len() > CA_BYTES_MAX {
        return Err("it is no file of certificates".to_owned());
    }
    let text = std::fs::read(file).map_err(|error| error.to_string())?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(certificates) if certificates.is_empty() => Err("it has no certificate in PEM".to_owned()),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(error.to_string()),
    }
}

//! Credentials, region and endpoint from the usual places: the environment, then a profile of the shared files.
//!
//! Pure: the environment and the files are passed in. Deliberately absent: what would need other services to be asked (SSO,
//! roles, instance metadata, processes), which is refused with the reason.

use std::collections::BTreeMap;
use std::fmt;

/// What a profile has that cannot be used.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("sso_session", "single sign-on"),
    ("sso_start_url", "single sign-on"),
    ("role_arn", "a role to assume"),
    ("credential_process", "a process that prints credentials"),
];

/// Who signs requests. Its secret and token are in no message and no record.
#[derive(Clone, PartialEq, Eq)]
pub struct S3Credentials {
    /// The access key's id.
    pub key_id: String,
    /// The secret.
    pub secret: String,
    /// The token of a session; `None` of lasting credentials.
    pub session_token: Option<String>,
}

impl fmt::Debug for S3Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Credentials").finish_non_exhaustive()
    }
}

/// What the environment says about S3.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct S3Environment {
    /// Who signs; `None` where nobody is named.
    pub credentials: Option<S3Credentials>,
    /// Why there are none though a profile names some.
    pub problem: Option<String>,
    /// The region that requests are signed for.
    pub region: Option<String>,
    /// URL of the service.
    pub endpoint: Option<String>,
    /// A file with certificates of authorities.
    pub ca_file: Option<String>,
}

/// What is read for an [`S3Environment`].
pub struct S3Sources<'a> {
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of the file of credentials.
    pub credentials_file: Option<String>,
    /// The text of the file of settings.
    pub config_file: Option<String>,
}

impl fmt::Debug for S3Sources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Sources").finish_non_exhaustive()
    }
}

impl S3Environment {
    /// What `sources` say; the environment goes before files.
    ///
    /// # Source
    /// AWS SDKs and Tools Reference Guide: environment variables, shared config and credentials files.
    #[must_use]
    pub fn read(sources: &S3Sources<'_>) -> Self {
        let variable = |name: &str| (sources.variable)(name).filter(|value| !value.trim().is_empty());
        let asked = variable("AWS_PROFILE").or_else(|| variable("AWS_DEFAULT_PROFILE"));
        let name = asked.clone().unwrap_or_else(|| "default".to_owned());
        let secrets = sections(sources.credentials_file.as_deref().unwrap_or_default());
        let config = sections(sources.config_file.as_deref().unwrap_or_default());
        let none = BTreeMap::new();
        let secret = secrets.get(&name);
        let setting = config.get(&format!("profile {name}")).or_else(|| config.get(&name));
        let is_known = secret.is_some() || setting.is_some();
        let (secret, setting) = (secret.unwrap_or(&none), setting.unwrap_or(&none));
        let from_files = |key: &str| secret.get(key).or_else(|| setting.get(key)).cloned();
        let named = match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
            (Some(key_id), Some(secret)) => {
                Some(S3Credentials { key_id, secret, session_token: variable("AWS_SESSION_TOKEN") })
            }
            _ => match (from_files("aws_access_key_id"), from_files("aws_secret_access_key")) {
                (Some(key_id), Some(secret)) => {
                    Some(S3Credentials { key_id, secret, session_token: from_files("aws_session_token") })
                }
                _ => None,
            },
        };
        let problem = match &named {
            Some(_) => None,
            None => asked
                .filter(|_| !is_known)
                .map(|name| format!("the profile `{name}` (AWS_PROFILE) is in neither shared file"))
                .or_else(|| unsupported(setting, &name)),
        };
        Self {
            credentials: named,
            problem,
            region: variable("AWS_REGION")
                .or_else(|| variable("AWS_DEFAULT_REGION"))
                .or_else(|| from_files("region")),
            endpoint: variable("AWS_ENDPOINT_URL_S3")
                .or_else(|| variable("AWS_ENDPOINT_URL"))
                .or_else(|| from_files("endpoint_url")),
            ca_file: variable("AWS_CA_BUNDLE").or_else(|| from_files("ca_bundle")),
        }
    }
}

fn unsupported(setting: &BTreeMap<String, String>, name: &str) -> Option<String> {
    let (_, what) = UNSUPPORTED.iter().find(|(key, _)| setting.contains_key(*key))?;
    Some(format!("the profile `{name}` takes its credentials from {what}, which narrows does not ask"))
}

/// The sections of a shared file with their settings; nested settings and what is no setting are passed over.
fn sections(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        // Settings that are indented belong to the setting above them.
        if line.starts_with([' ', '\t', '#', ';']) || line.trim().is_empty() {
            continue;
        }
        if let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            found.entry(name.clone()).or_default();
            current = Some(name);
            continue;
        }
        if let (Some(section), Some((key, value))) = (&current, line.split_once('=')) {
            let value = value.split(" #").next().unwrap_or_default().trim();
            found
                .entry(section.clone())
                .or_default()
                .insert(key.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: &str = "[default]\naws_access_key_id = D\naws_secret_access_key = DS\n\n# more\n[other]\n\
                           aws_access_key_id=O\naws_secret_access_key=OS==\naws_session_token = T\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1 # near\ns3 =\n    addressing_style = path\n[profile other]\n\
                          region = eu-north-1\nendpoint_url = http://o:1\nca_bundle = /ca\n[profile sso]\n\
                          sso_session = s\n[profile bare]\noutput = json\n";

    fn read(variables: &[(&str, &str)]) -> S3Environment {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let (credentials_file, config_file) = (Some(SECRETS.to_owned()), Some(CONFIG.to_owned()));
        S3Environment::read(&S3Sources { variable: &variable, credentials_file, config_file })
    }

    #[test]
    fn the_environment_goes_before_the_profile() {
        let found = read(&[
            ("AWS_ACCESS_KEY_ID", "K"),
            ("AWS_SECRET_ACCESS_KEY", "S"),
            ("AWS_PROFILE", "other"),
            ("AWS_REGION", "r"),
            ("AWS_ENDPOINT_URL", "http://a"),
            ("AWS_ENDPOINT_URL_S3", "http://b"),
        ]);
        let credentials = found.credentials.unwrap();
        assert_eq!((credentials.key_id.as_str(), credentials.session_token), ("K", None));
        assert_eq!((found.region.as_deref(), found.endpoint.as_deref()), (Some("r"), Some("http://b")));
        assert_eq!(found.ca_file.as_deref(), Some("/ca"));
    }

    #[test]
    fn a_profile_is_read_from_both_files_and_the_default_without_a_name() {
        let found = read(&[("AWS_PROFILE", "other")]);
        let credentials = found.credentials.unwrap();
        assert_eq!((credentials.key_id.as_str(), credentials.secret.as_str()), ("O", "OS=="));
        assert_eq!(credentials.session_token.as_deref(), Some("T"));
        assert_eq!(
            (found.region.as_deref(), found.endpoint.as_deref()),
            (Some("eu-north-1"), Some("http://o:1"))
        );
        let found = read(&[("AWS_ACCESS_KEY_ID", " ")]);
        assert_eq!(
            (found.credentials.unwrap().key_id.as_str(), found.region.as_deref()),
            ("D", Some("eu-west-1"))
        );
    }

    #[test]
    fn why_a_profile_gives_no_credentials_is_said() {
        let problem = |name: &str| read(&[("AWS_PROFILE", name)]).problem;
        assert!(problem("missing").unwrap().contains("`missing` (AWS_PROFILE) is in neither"));
        assert!(problem("sso").unwrap().contains("single sign-on"));
        assert_eq!(problem("bare"), None);
        assert_eq!(read(&[]).problem, None);
    }

    #[test]
    fn secrets_are_in_no_debug_output() {
        let text = format!("{:?}", read(&[("AWS_PROFILE", "other")]));
        assert!(!text.contains("OS==") && !text.contains("\"T\"") && !text.contains("\"O\""), "{text}");
    }

    #[test]
    fn odd_files_are_read_without_a_panic() {
        for text in ["[", "]", "=", "[a\nb=c", "x=y\n[]\n=v\nk\n", "[ profile   a ]\nk = v"] {
            drop(sections(text));
        }
        assert_eq!(sections("[ profile   a ]\nK = v")["profile a"]["k"], "v");
    }
}

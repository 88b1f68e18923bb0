//! A part of a bucket, as `//BUCKET/PREFIX` behind `s3:`.
//!
//! Text form only: who signs requests, and what answers at the endpoint, is the engine's business.

use std::fmt;

/// The form for messages.
pub(crate) const FORM: &str =
    "s3://BUCKET[/PREFIX][?endpoint=URL&region=REGION&addressing=path|virtual&ca=FILE]";

/// Where the name of the bucket is in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BucketAddressing {
    /// In front of the key, in the path: `https://HOST/BUCKET/KEY`.
    Path,
    /// In front of the host: `https://BUCKET.HOST/KEY`.
    Virtual,
}

/// The objects of a bucket below a prefix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct S3Address {
    /// Name of the bucket.
    pub bucket: String,
    /// What keys begin with, without a slash at its start and its end; empty for the whole bucket.
    pub prefix: String,
    /// URL of the service; `None` where the environment or the region gives it.
    pub endpoint: Option<String>,
    /// The region that requests are signed for; `None` where the environment gives it.
    pub region: Option<String>,
    /// Where the bucket's name is; `None` for the usual place at that endpoint.
    pub addressing: Option<BucketAddressing>,
    /// A file with certificates of authorities that the endpoint's is checked against, instead of the system's.
    pub ca_file: Option<String>,
}

impl S3Address {
    /// The address in `rest`, which follows `s3:`.
    ///
    /// # Errors
    /// What is wrong, as a phrase that follows the text.
    pub fn parse(rest: &str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").ok_or("misses `//` after `s3:`")?;
        let (rest, options) = rest.split_once('?').map_or((rest, None), |(rest, o)| (rest, Some(o)));
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let mut address = Self {
            bucket: checked_bucket(bucket)?,
            prefix: checked_prefix(prefix.trim_end_matches('/'))?,
            endpoint: None,
            region: None,
            addressing: None,
            ca_file: None,
        };
        options
            .into_iter()
            .flat_map(|options| options.split('&'))
            .try_for_each(|option| address.set(option))?;
        Ok(address)
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let (name, value) =
            option.split_once('=').ok_or_else(|| format!("has `{option}` where NAME=VALUE belongs"))?;
        if value.is_empty() {
            return Err(format!("has nothing behind `{name}=`"));
        }
        let again = match name {
            "endpoint" => self.endpoint.replace(checked_endpoint(value)?).is_some(),
            "region" => self.region.replace(value.to_owned()).is_some(),
            "addressing" => {
                let addressing = match value {
                    "path" => BucketAddressing::Path,
                    "virtual" => BucketAddressing::Virtual,
                    _ => return Err(format!("has the addressing `{value}` where path or virtual belongs")),
                };
                self.addressing.replace(addressing).is_some()
            }
            "ca" => self.ca_file.replace(value.to_owned()).is_some(),
            _ => return Err(format!("has an unknown option `{name}`")),
        };
        if again { Err(format!("has the option `{name}` twice")) } else { Ok(()) }
    }

    /// The objects below `name` in this part.
    #[must_use]
    pub fn within(&self, name: &str) -> Self {
        Self { prefix: self.key(name), ..self.clone() }
    }

    /// The key of the object `name` in this part.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) }
    }

    /// The last part of the prefix; empty for the whole bucket.
    #[must_use]
    pub fn last_part(&self) -> &str {
        self.prefix.rsplit('/').next().unwrap_or_default()
    }
}

/// What follows `s3:`.
impl fmt::Display for S3Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "//{}", self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        let addressing = self.addressing.map(|addressing| match addressing {
            BucketAddressing::Path => "path",
            BucketAddressing::Virtual => "virtual",
        });
        let options = [
            ("endpoint", self.endpoint.as_deref()),
            ("region", self.region.as_deref()),
            ("addressing", addressing),
            ("ca", self.ca_file.as_deref()),
        ];
        let mut separator = '?';
        for (name, value) in options {
            if let Some(value) = value {
                write!(f, "{separator}{name}={value}")?;
                separator = '&';
            }
        }
        Ok(())
    }
}

fn checked_bucket(bucket: &str) -> Result<String, String> {
    if bucket.is_empty() {
        return Err("names no bucket".to_owned());
    }
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    if !(3..=255).contains(&bucket.len()) || !bucket.chars().all(is_allowed) || bucket.contains("..") {
        return Err(format!(
            "has `{bucket}` where the name of a bucket belongs: 3 letters or more, digits, `-` and `.`"
        ));
    }
    Ok(bucket.to_owned())
}

/// Parts that a URL would resolve, so that another key were meant, are refused.
fn checked_prefix(prefix: &str) -> Result<String, String> {
    if prefix.is_empty() {
        return Ok(String::new());
    }
    if prefix.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("has an empty part, `.` or `..` in its prefix".to_owned());
    }
    if prefix.chars().any(char::is_control) || prefix.len() > 512 {
        return Err("has a prefix of more than 512 bytes, or with control characters".to_owned());
    }
    Ok(prefix.to_owned())
}

/// A target is recorded, so that no secret may be in it.
fn checked_endpoint(url: &str) -> Result<String, String> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest =
        rest.ok_or_else(|| format!("has the endpoint `{url}` where http://HOST or https://HOST belongs"))?;
    if rest.contains('@') {
        return Err("has a user or a password in its endpoint, which would be recorded".to_owned());
    }
    if rest.trim_end_matches('/').is_empty() || rest.starts_with('/') || rest.contains(['?', '#']) {
        return Err(format!("has the endpoint `{url}`, which names no host, or more than a host and a path"));
    }
    Ok(url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_displayed_as_it_is_parsed() {
        for text in [
            "//bucket",
            "//bucket/some/prefix",
            "//bucket?endpoint=http://127.0.0.1:7070",
            "//bucket/p?endpoint=https://[::1]:7070/s3&region=eu-west-1&addressing=virtual&ca=/etc/ca.pem",
        ] {
            assert_eq!(S3Address::parse(text).unwrap().to_string(), text);
        }
        let address = S3Address::parse("//bucket/a/b/?addressing=path").unwrap();
        assert_eq!((address.prefix.as_str(), address.last_part()), ("a/b", "b"));
        assert_eq!(address.within("c").to_string(), "//bucket/a/b/c?addressing=path");
        assert_eq!(S3Address::parse("//bucket/").unwrap().key("x"), "x");
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said() {
        for (text, part) in [
            ("bucket", "misses `//`"),
            ("//", "names no bucket"),
            ("//ab/p", "`ab` where the name of a bucket"),
            ("//b/../c", "name of a bucket"),
            ("//bucket/a/../b", "`..`"),
            ("//bucket//a", "an empty part"),
            ("//bucket?endpoint=host", "http://HOST"),
            ("//bucket?endpoint=http://", "names no host"),
            ("//bucket?endpoint=https://key:secret@host", "a user or a password"),
            ("//bucket?endpoint=https://host?x", "more than a host"),
            ("//bucket?addressing=dns", "path or virtual"),
            ("//bucket?region=", "nothing behind `region=`"),
            ("//bucket?region=a&region=b", "`region` twice"),
            ("//bucket?acl=1", "unknown option `acl`"),
            ("//bucket?region", "NAME=VALUE"),
        ] {
            let problem = S3Address::parse(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
        }
    }
}

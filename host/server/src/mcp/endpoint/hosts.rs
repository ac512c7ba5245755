//! Which `Host` and `Origin` a request may name. Checked before anything of the request is read, so that a
//! web page that was rebound to this machine reaches nothing.

use http::uri::Authority;
use http::{HeaderMap, Uri, header};

use crate::mcp::McpSetupError;

/// Hosts and origins the endpoint answers to.
#[derive(Clone, Debug)]
pub(super) struct Neighbourhood {
    hosts: Vec<Host>,
    origins: Vec<Origin>,
}

/// Why a request is refused before it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stranger {
    #[error("the Host header is missing, doubled or malformed")]
    HostUnclear,
    #[error("this host name is not served here; see allowed_hosts under [mcp]")]
    HostNotAllowed,
    #[error("the Origin header is doubled or malformed")]
    OriginUnclear,
    #[error("this origin is not served here; see allowed_origins under [mcp]")]
    OriginNotAllowed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: String,
    port: Port,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Any,
    Exactly(u16),
}

impl Neighbourhood {
    /// Reads the operator's lists.
    pub(super) fn new(hosts: &[String], origins: &[String]) -> Result<Self, McpSetupError> {
        let wrong_host = |entry: &String| McpSetupError::AllowedHost {
            entry: entry.clone(),
        };
        let wrong_origin = |entry: &String| McpSetupError::AllowedOrigin {
            entry: entry.clone(),
        };
        if hosts.is_empty() {
            return Err(McpSetupError::NoAllowedHost);
        }
        let hosts = hosts
            .iter()
            .map(|entry| allowed_host(entry).ok_or_else(|| wrong_host(entry)));
        let origins = origins
            .iter()
            .map(|entry| allowed_origin(entry).ok_or_else(|| wrong_origin(entry)));
        Ok(Self {
            hosts: hosts.collect::<Result<_, _>>()?,
            origins: origins.collect::<Result<_, _>>()?,
        })
    }

    /// Lets a request pass or says why not.
    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        let host = only(headers, &header::HOST).map_err(|_| Stranger::HostUnclear)?;
        let host = host.and_then(parse_host).ok_or(Stranger::HostUnclear)?;
        // A request line may name a host too, and then it is the one that counts.
        let target = uri
            .authority()
            .map(|authority| parse_host(authority.as_str()));
        let target = target
            .map(|host| host.ok_or(Stranger::HostUnclear))
            .transpose()?;
        if !std::iter::once(&host)
            .chain(&target)
            .all(|host| self.serves(host))
        {
            return Err(Stranger::HostNotAllowed);
        }
        match only(headers, &header::ORIGIN).map_err(|_| Stranger::OriginUnclear)? {
            None => Ok(()),
            Some("null") => Err(Stranger::OriginNotAllowed),
            Some(origin) => {
                let origin = parse_origin(origin).ok_or(Stranger::OriginUnclear)?;
                let allowed = self.origins.iter().any(|entry| entry.covers(&origin));
                if allowed {
                    Ok(())
                } else {
                    Err(Stranger::OriginNotAllowed)
                }
            }
        }
    }

    fn serves(&self, host: &Host) -> bool {
        self.hosts.iter().any(|entry| {
            entry.name == host.name && (entry.port.is_none() || entry.port == host.port)
        })
    }

    /// The hosts in the form rmcp takes: it checks them a second time.
    pub(super) fn hosts_for_rmcp(&self) -> Vec<String> {
        self.hosts
            .iter()
            .map(|host| match host.port {
                Some(port) => format!("{}:{port}", host.name),
                None => host.name.clone(),
            })
            .collect()
    }

    /// The origins in the form rmcp takes.
    pub(super) fn origins_for_rmcp(&self) -> Vec<String> {
        self.origins
            .iter()
            .map(|origin| match origin.port {
                Port::Any => format!("{}://{}:*", origin.scheme, origin.host),
                Port::Exactly(port) => format!("{}://{}:{port}", origin.scheme, origin.host),
            })
            .collect()
    }
}

impl Origin {
    fn covers(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.host == other.host
            && (self.port == Port::Any || self.port == other.port)
    }
}

struct Doubled;

/// The one value of a header, `None` without it. A doubled or unreadable one could be read two ways.
fn only<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Result<Option<&'a str>, Doubled> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| Doubled),
        (Some(_), Some(_)) => Err(Doubled),
    }
}

fn parse_host(text: &str) -> Option<Host> {
    let authority = Authority::try_from(text).ok()?;
    if text.contains('@') || authority.host().is_empty() {
        return None;
    }
    // A port that is no number is no authority; `host:` with nothing behind it is.
    let port = match authority.port() {
        Some(port) => Some(port.as_u16()),
        None if authority.as_str().len() == authority.host().len() => None,
        None => return None,
    };
    Some(Host {
        name: authority.host().to_ascii_lowercase(),
        port,
    })
}

fn allowed_host(entry: &str) -> Option<Host> {
    // An IPv6 address may be given without brackets, as everywhere else in the configuration.
    match entry.parse::<std::net::Ipv6Addr>() {
        Ok(address) => Some(Host {
            name: format!("[{address}]"),
            port: None,
        }),
        Err(_) => parse_host(entry),
    }
}

fn parse_origin(text: &str) -> Option<Origin> {
    let uri = Uri::try_from(text).ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let rest = text.get(scheme.len()..)?.strip_prefix("://")?;
    // An origin has no path, also no `/`.
    let host = if rest.contains('/') {
        None
    } else {
        parse_host(rest)
    }?;
    let port = host.port.or(match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })?;
    Some(Origin {
        scheme,
        host: host.name,
        port: Port::Exactly(port),
    })
}

fn allowed_origin(entry: &str) -> Option<Origin> {
    match entry.strip_suffix(":*") {
        // The port only has to be some port for the rest to be read.
        Some(rest) => Some(Origin {
            port: Port::Any,
            ..parse_origin(&format!("{rest}:1"))?
        }),
        None => parse_origin(entry),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const HOSTS: &[&str] = &["localhost", "127.0.0.1", "::1", "weft.example:8443"];
    const ORIGINS: &[&str] = &[
        "http://localhost:*",
        "http://[::1]:*",
        "https://console.example",
        "http://a.example:81",
    ];

    fn served() -> Neighbourhood {
        let owned = |list: &[&str]| {
            list.iter()
                .map(|entry| (*entry).to_owned())
                .collect::<Vec<_>>()
        };
        Neighbourhood::new(&owned(HOSTS), &owned(ORIGINS)).expect("good lists")
    }

    fn admit(uri: &str, hosts: &[&str], origins: &[&str]) -> Result<(), Stranger> {
        let mut headers = HeaderMap::new();
        for host in hosts {
            headers.append(
                header::HOST,
                HeaderValue::from_bytes(host.as_bytes()).expect("value"),
            );
        }
        for origin in origins {
            let value = HeaderValue::from_bytes(origin.as_bytes()).expect("value");
            headers.append(header::ORIGIN, value);
        }
        served().admit(&uri.parse().expect("uri"), &headers)
    }

    #[test]
    fn only_listed_hosts_are_served() {
        use Stranger::{HostNotAllowed, HostUnclear};
        for (hosts, verdict) in [
            (&["localhost"][..], Ok(())),
            (&["LOCALHOST:7420"], Ok(())),
            (&["127.0.0.1:1"], Ok(())),
            (&["[::1]:7420"], Ok(())),
            (&["weft.example:8443"], Ok(())),
            (&["weft.example"], Err(HostNotAllowed)),
            (&["weft.example:8444"], Err(HostNotAllowed)),
            (&["evil.example"], Err(HostNotAllowed)),
            (&["localhost."], Err(HostNotAllowed)),
            (&["127.0.0.1.evil.example"], Err(HostNotAllowed)),
            (&["0.0.0.0"], Err(HostNotAllowed)),
            (&["2130706433"], Err(HostNotAllowed)),
            (&["[::ffff:127.0.0.1]"], Err(HostNotAllowed)),
            (&["evil@localhost"], Err(HostUnclear)),
            (&["localhost:port"], Err(HostUnclear)),
            (&["localhost/mcp"], Err(HostUnclear)),
            (&["localhost", "localhost"], Err(HostUnclear)),
            (&["localhost", "evil.example"], Err(HostUnclear)),
            (&["\u{e9}.example"], Err(HostUnclear)),
            (&[""], Err(HostUnclear)),
            (&[], Err(HostUnclear)),
        ] {
            assert_eq!(admit("/mcp", hosts, &[]), verdict, "{hosts:?}");
        }
    }

    #[test]
    fn a_host_in_the_request_line_counts_too() {
        assert_eq!(admit("http://localhost/mcp", &["localhost"], &[]), Ok(()));
        let evil = admit("http://evil.example/mcp", &["localhost"], &[]);
        assert_eq!(evil, Err(Stranger::HostNotAllowed));
    }

    #[test]
    fn only_listed_origins_are_served() {
        use Stranger::{OriginNotAllowed, OriginUnclear};
        for (origins, verdict) in [
            (&[][..], Ok(())),
            (&["http://localhost"], Ok(())),
            (&["http://localhost:3000"], Ok(())),
            (&["HTTP://LocalHost:3000"], Ok(())),
            (&["http://[::1]:3000"], Ok(())),
            (&["https://console.example"], Ok(())),
            (&["https://console.example:443"], Ok(())),
            (&["http://a.example:81"], Ok(())),
            (&["https://localhost:3000"], Err(OriginNotAllowed)),
            (&["https://console.example:444"], Err(OriginNotAllowed)),
            (&["http://console.example"], Err(OriginNotAllowed)),
            (&["http://a.example"], Err(OriginNotAllowed)),
            (&["http://localhost.evil.example"], Err(OriginNotAllowed)),
            (&["null"], Err(OriginNotAllowed)),
            (&["http://localhost/"], Err(OriginUnclear)),
            (&["http://evil@localhost"], Err(OriginUnclear)),
            (&["localhost"], Err(OriginUnclear)),
            (&["file://"], Err(OriginUnclear)),
            (&[""], Err(OriginUnclear)),
            (
                &["http://localhost", "http://localhost"],
                Err(OriginUnclear),
            ),
            (
                &["http://localhost", "http://evil.example"],
                Err(OriginUnclear),
            ),
        ] {
            assert_eq!(
                admit("/mcp", &["localhost"], origins),
                verdict,
                "{origins:?}"
            );
        }
    }

    #[test]
    fn an_empty_origin_list_refuses_every_origin() {
        let served = Neighbourhood::new(&["localhost".to_owned()], &[]).expect("good lists");
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        assert_eq!(served.admit(&Uri::from_static("/mcp"), &headers), Ok(()));
        headers.insert(header::ORIGIN, HeaderValue::from_static("http://localhost"));
        let refused = served.admit(&Uri::from_static("/mcp"), &headers);
        assert_eq!(refused, Err(Stranger::OriginNotAllowed));
    }

    #[test]
    fn a_wrong_entry_is_named() {
        let lists = |host: &str, origin: &str| {
            Neighbourhood::new(&[host.to_owned()], &[origin.to_owned()])
                .expect_err("wrong")
                .to_string()
        };
        assert!(lists("http://localhost", "http://localhost:*").contains("http://localhost"));
        assert!(lists("localhost", "console.example").contains("console.example"));
        assert!(lists("localhost", "null").contains("null"));
        assert!(Neighbourhood::new(&[], &[]).is_err());
    }
}

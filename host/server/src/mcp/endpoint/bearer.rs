//! Who is calling: the bearer token of a request.

use http::{HeaderMap, header};

use super::refusal::Refusal;
use crate::credentials::{CredentialRegistry, Principal};

/// Finds the caller and takes the token out of the headers: nothing behind this point may see or log it.
pub(super) fn authenticate(
    registry: &CredentialRegistry,
    headers: &mut HeaderMap,
) -> Result<Principal, Refusal> {
    let principal = match bearer(headers) {
        Some(token) => registry.resolve(token).ok_or("unknown or expired"),
        None => Err("missing"),
    };
    headers.remove(header::AUTHORIZATION);
    principal.map_err(|reason| {
        tracing::warn!(reason, "refused an MCP request: bearer token");
        Refusal::Credential
    })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (value, None) = (values.next()?.to_str().ok()?, values.next()) else {
        return None;
    };
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_bearer_is_one_header_with_one_token() {
        for (values, token) in [
            (&["Bearer abc"][..], Some("abc")),
            (&["bearer abc"], Some("abc")),
            (&["BEARER  abc "], Some("abc")),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Basic abc"], None),
            (&["abc"], None),
            (&["Bearer abc", "Bearer abc"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_static(value));
            }
            assert_eq!(bearer(&headers), token, "{values:?}");
        }
    }
}

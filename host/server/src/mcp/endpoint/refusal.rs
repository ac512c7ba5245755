//! Replies the endpoint gives itself, before or instead of rmcp.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use super::hosts::Stranger;
use crate::mcp::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_BODY_TIME_MAX, RETRY_AFTER_SECONDS};

/// Why a request was not handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("{0}")]
    Stranger(#[from] Stranger),
    #[error("the bearer token is missing, unknown or expired; it ends with its provider session")]
    Credential,
    #[error("no such MCP session; start one with initialize")]
    Session,
    #[error("too many requests are being worked on; try again")]
    Busy,
    #[error("the request body is larger than {REQUEST_BODY_BYTES_MAX} bytes")]
    BodyTooLarge,
    #[error("the request body did not arrive within {} seconds", REQUEST_BODY_TIME_MAX.as_secs())]
    BodyTooSlow,
    #[error("the request body broke off")]
    BodyBroken,
    #[error(
        "nothing is kept after this event; read the durable state instead, for a task with task_status"
    )]
    NothingToResume,
}

impl Refusal {
    const fn status(self) -> StatusCode {
        match self {
            Self::Stranger(_) => StatusCode::FORBIDDEN,
            Self::Credential => StatusCode::UNAUTHORIZED,
            Self::Session => StatusCode::NOT_FOUND,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::BodyBroken => StatusCode::BAD_REQUEST,
            // The one status after which every known client stops asking for the stream.
            Self::NothingToResume => StatusCode::METHOD_NOT_ALLOWED,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Stranger(Stranger::HostUnclear | Stranger::HostNotAllowed) => "host_not_allowed",
            Self::Stranger(Stranger::OriginUnclear | Stranger::OriginNotAllowed) => {
                "origin_not_allowed"
            }
            Self::Credential => "invalid_mcp_credential",
            Self::Session => "session_not_found",
            Self::Busy => "too_many_requests",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTooSlow => "body_too_slow",
            Self::BodyBroken => "body_broken",
            Self::NothingToResume => "nothing_to_resume",
        }
    }

    /// The reply. The same bytes for the same refusal, so that nothing can be told from it.
    pub(super) fn into_response(self) -> Response {
        let body = json!({ "error": self.word(), "message": self.to_string() }).to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        match self {
            Self::Credential => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::Busy => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS));
            }
            Self::NothingToResume => {
                headers.insert(header::ALLOW, HeaderValue::from_static("POST, DELETE"));
            }
            _ => {}
        }
        response
    }
}

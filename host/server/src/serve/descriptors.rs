//! The limit of open files, raised at the start; the number of parked waits follows it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::limits::{DESCRIPTORS_KEPT_ONE_IN, FILE_DESCRIPTORS_WANTED};
use crate::mcp::limits::PARKED_WAITS_MAX;

/// Raises the limit as far as wanted and allowed; answers what holds.
pub(super) fn raise() -> u64 {
    let before = getrlimit(Resource::Nofile);
    let allowed = before.maximum.unwrap_or(FILE_DESCRIPTORS_WANTED);
    let wanted = allowed.min(FILE_DESCRIPTORS_WANTED);
    let current = before.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    match setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(wanted),
            maximum: before.maximum,
        },
    ) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, current, "the limit of open files can't be raised");
            current
        }
    }
}

/// Waits that may be parked with so many descriptors: each holds one connection.
pub(super) fn parked_waits_max(descriptors: u64) -> usize {
    let free = descriptors - descriptors / DESCRIPTORS_KEPT_ONE_IN;
    usize::try_from(free)
        .unwrap_or(usize::MAX)
        .min(PARKED_WAITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parked_waits_follow_the_descriptors_up_to_their_bound() {
        for (descriptors, waits) in [
            (1_024, 768),
            (4_096, 3_072),
            (32_768, PARKED_WAITS_MAX),
            (u64::MAX, PARKED_WAITS_MAX),
        ] {
            assert_eq!(parked_waits_max(descriptors), waits, "{descriptors}");
        }
    }
}

//! Bearer tokens and the only form of them that is kept.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use threads::ports::Secret;

/// Random bytes of a token: 256 bits can't be guessed.
const TOKEN_BYTES: usize = 32;

/// Hex SHA-256 of a token. Safe to keep: the token can't be found from it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenHash(String);

impl TokenHash {
    /// Hash of a token as it was sent.
    pub(super) fn of(token: &str) -> Self {
        let digest = Sha256::digest(token.as_bytes());
        let mut hex = String::with_capacity(digest.len() * 2);
        for byte in digest {
            // Writing to a String can't fail.
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }
}

/// A new token: 32 random bytes as base64url without padding.
pub(super) fn mint_token() -> Result<Secret, getrandom::Error> {
    let mut bytes = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_43_characters_of_base64url() {
        let token = mint_token().expect("random bytes");
        assert_eq!(token.expose().len(), 43);
        let alphabet = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(token.expose().chars().all(alphabet));
    }

    #[test]
    fn a_hash_is_the_hex_sha_256_of_the_token() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(TokenHash::of("abc"), TokenHash(known.to_owned()));
    }
}

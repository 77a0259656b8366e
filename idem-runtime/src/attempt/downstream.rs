use std::fmt;
use std::ops::Deref;

use serde::Serialize;

use crate::hexadecimal::{hexadecimal, sha256};

/// What a provider knows an outside call by: its idempotency key, request number or reference. 32 hexadecimal digits, which
/// is what the shortest of such fields hold.
///
/// It is the first half of the SHA-256 of the call's scope, its key and the step's name, each preceded by its length: the
/// same at every attempt, in every process and every release.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct DownstreamKey(String);

impl DownstreamKey {
    pub(crate) fn of(scope: &str, key: &str, step: &str) -> Self {
        let hash = sha256(&["idem downstream key v1", scope, key, step]);
        Self(hexadecimal(&hash[..16]))
    }

    /// It as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for DownstreamKey {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for DownstreamKey {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DownstreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another text would make a provider take a retry for another call.
    #[test]
    fn it_never_changes() {
        assert_eq!(
            DownstreamKey::of("transfer.send", "7/42", "bank.send").as_str(),
            "8729361fe1efc5fbf50d87d326094898"
        );
        assert_eq!(DownstreamKey::of("订单", "a%2Fb", "支付").as_str(), "8c7c491ea27c413fba57672902c57616");
    }

    #[test]
    fn no_two_steps_meet() {
        let keys = [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "ab", "c"), ("a", "b", "c ")];
        for (at, (scope, key, step)) in keys.into_iter().enumerate() {
            for (scope2, key2, step2) in keys.into_iter().skip(at + 1) {
                assert_ne!(DownstreamKey::of(scope, key, step), DownstreamKey::of(scope2, key2, step2));
            }
        }
    }
}

//! Money in minor units. An amount is never a float: `0.1 + 0.2` is not `0.3` there.

use std::fmt;
use std::ops::Sub;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An amount in minor units, written as the channel writes it: `88.00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Money(pub(crate) i64);

/// The text is not an amount with two decimals.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an amount with two decimals")]
pub(crate) struct NotAnAmount(String);

impl FromStr for Money {
    type Err = NotAnAmount;

    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        let minor =
            text.split_once('.').filter(|(whole, cents)| is_number(whole) && is_number(cents) && cents.len() == 2);
        let minor = minor.and_then(|(whole, cents)| format!("{whole}{cents}").parse().ok());
        minor.map(Self).ok_or_else(|| NotAnAmount(text.to_owned()))
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{:02}", self.0 / 100, self.0 % 100))
    }
}

impl Sub for Money {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl From<Money> for String {
    fn from(money: Money) -> Self {
        money.to_string()
    }
}

impl TryFrom<String> for Money {
    type Error = NotAnAmount;

    fn try_from(text: String) -> Result<Self, NotAnAmount> {
        text.parse()
    }
}

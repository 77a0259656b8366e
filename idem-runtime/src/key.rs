//! Idempotency keys and causes: parts that are the same on every retry, joined so that no two tuples meet.

mod date;
mod decimal;
mod parts;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::{Display, Write as _};

use crate::error::Error;

pub use parts::KeyParts;

/// The longest key or cause in bytes, as stored.
pub(crate) const MAX_BYTES: usize = 512;

/// A value that can be part of an idempotency key, or a cause: it is the same on every retry.
///
/// | value | its text |
/// | --- | --- |
/// | integers, `bool`, strings, `Uuid` | as `Display` writes them |
/// | `Option` | that of the value; `None` is what no text becomes, and so is `Some(None)` |
/// | `Decimal`, `BigDecimal` (features `rust_decimal`, `bigdecimal`) | that of the number: `1.50` and `1.5` are one, `1.5` |
/// | `NaiveDate`, `Date` (features `chrono`, `time`) | `2026-02-28` |
/// | types of your own | by [`#[derive(KeyPart)]`](derive@crate::KeyPart): newtypes, and enums without data |
///
/// Floats, timestamps and collections are not: what a client computes, reads from its clock or puts in no fixed order
/// differs from one try to the next.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of an idempotency key",
    label = "not the same on every retry, or not known to be",
    note = "a key must be the same on every retry; use the request's or the order's identifier",
    note = "floats, timestamps and collections are refused; integers, strings, `bool`, `Uuid` and `Option` of these are accepted",
    note = "decimals and calendar dates are accepted with the feature named after their crate",
    note = "for a newtype or an enum of your own: `#[derive(KeyPart)]`"
)]
pub trait KeyPart {
    /// Writes the value into its part, once.
    fn write(&self, part: &mut Part);
}

/// One part of a key while it is written.
#[derive(Debug, Default)]
pub struct Part {
    text: String,
    /// How many `Option`s deep a `None` was met.
    none: Option<usize>,
    depth: usize,
    /// How often a value was written.
    written: usize,
}

impl Part {
    /// The part's text. A second one makes the key an error: joined, other two texts could be the same.
    pub fn text(&mut self, value: impl Display) {
        self.written += 1;
        // Writing into a `String` cannot fail.
        let _ = write!(self.text, "{value}");
    }

    /// An optional part; `None` differs from every text.
    pub fn option<T: KeyPart>(&mut self, value: Option<&T>) {
        self.depth += 1;
        match value {
            Some(value) => value.write(self),
            None => self.nothing(),
        }
    }

    const fn nothing(&mut self) {
        self.written += 1;
        self.none = Some(self.depth);
    }

    fn of<T: KeyPart + ?Sized>(value: &T) -> Self {
        let mut part = Self::default();
        value.write(&mut part);
        part
    }

    fn fault(&self) -> Option<&'static str> {
        match self.written {
            0 | 1 if self.none.is_none() && self.text.trim().is_empty() => Some("a part is empty"),
            0 | 1 => None,
            _ => Some("a part was written more than once"),
        }
    }

    /// Escapes what joins parts and what a text column cannot hold; a `None` is what no text becomes.
    fn append_to(&self, key: &mut String) {
        if let Some(depth) = self.none {
            return key.extend(std::iter::repeat_n('~', depth));
        }
        for c in self.text.chars() {
            match c {
                '/' | '%' | '~' | '\0'..='\x1f' | '\x7f' => {
                    let _ = write!(key, "%{:02X}", u32::from(c));
                }
                c => key.push(c),
            }
        }
    }
}

macro_rules! key_part_by_display {
    ($($T:ty),*) => {
        $(impl KeyPart for $T {
            fn write(&self, part: &mut Part) {
                part.text(self);
            }
        })*
    };
}
key_part_by_display!(i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, bool, str, String, uuid::Uuid);

impl KeyPart for Cow<'_, str> {
    fn write(&self, part: &mut Part) {
        part.text(self);
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart + ?Sized> KeyPart for &T {
    fn write(&self, part: &mut Part) {
        T::write(self, part);
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart + ?Sized> KeyPart for Box<T> {
    fn write(&self, part: &mut Part) {
        T::write(self, part);
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> KeyPart for Option<T> {
    fn write(&self, part: &mut Part) {
        part.option(self.as_ref());
    }
}

/// The key of one idempotent call: its parts, escaped and joined by `/`.
#[derive(Debug, Clone, Default)]
pub struct Key {
    text: String,
    parts: usize,
    fault: Option<&'static str>,
}

impl Key {
    /// A key of no parts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part.
    #[must_use]
    pub fn part<T: KeyPart + ?Sized>(mut self, value: &T) -> Self {
        let part = Part::of(value);
        self.fault = self.fault.or(part.fault());
        if self.parts > 0 {
            self.text.push('/');
        }
        part.append_to(&mut self.text);
        self.parts += 1;
        self
    }

    pub(crate) fn finish(self) -> Result<String, Error> {
        let fault = match self.text.len() {
            _ if self.parts == 0 => Some("it has no parts"),
            _ if self.fault.is_some() => self.fault,
            length if length > MAX_BYTES => Some("it is longer than 512 bytes"),
            _ => None,
        };
        match fault {
            Some(reason) => Err(Error::InvalidKey { reason }),
            None => Ok(self.text),
        }
    }
}

/// A cause as the history holds it: the text as it is, so that a person can search for it.
pub(crate) fn cause<T: KeyPart + ?Sized>(value: &T) -> Result<String, Error> {
    let part = Part::of(value);
    let fault = match part.text.len() {
        _ if part.none.is_some() => Some("a cause cannot be `None`"),
        _ if part.written > 1 => part.fault(),
        _ if part.fault().is_some() => Some("a cause cannot be empty"),
        length if length > MAX_BYTES => Some("a cause is longer than 512 bytes"),
        _ if part.text.contains('\0') => Some("a cause cannot hold NUL"),
        _ => None,
    };
    match fault {
        Some(reason) => Err(Error::InvalidKey { reason }),
        None => Ok(part.text),
    }
}

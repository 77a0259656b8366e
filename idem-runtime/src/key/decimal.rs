//! Decimals, written as the number that they are: how many zeros it was given with is not the same on every retry.

#[cfg(feature = "rust_decimal")]
impl super::KeyPart for sqlx::types::Decimal {
    fn write(&self, part: &mut super::Part) {
        part.text(text(&self.mantissa().to_string(), self.scale().into()));
    }
}

#[cfg(feature = "bigdecimal")]
impl super::KeyPart for sqlx::types::BigDecimal {
    fn write(&self, part: &mut super::Part) {
        let (digits, scale) = self.as_bigint_and_exponent();
        part.text(text(&digits.to_string(), scale));
    }
}

/// An integer divided by ten as often as `scale` says: without an exponent, a `+`, or a zero that does not count.
///
/// The text of each crate would not do: it keeps the zeros, and that of `BigDecimal` turns to an exponent where the build's
/// environment says so.
#[cfg(any(feature = "rust_decimal", feature = "bigdecimal", test))]
fn text(integer: &str, scale: i64) -> String {
    let (sign, digits) = integer.strip_prefix('-').map_or(("", integer), |digits| ("-", digits));
    let counting = digits.trim_end_matches('0');
    if counting.is_empty() {
        return "0".to_owned();
    }
    let zeros = digits.len() - counting.len();
    let scale = scale.saturating_sub(i64::try_from(zeros).unwrap_or(i64::MAX));
    format!("{sign}{}", with_point(counting, scale))
}

#[cfg(any(feature = "rust_decimal", feature = "bigdecimal", test))]
fn with_point(digits: &str, scale: i64) -> String {
    // A key with more zeros is refused anyway, and ten to the power of a billion would fill the memory first.
    let places = usize::try_from(scale.unsigned_abs()).unwrap_or(usize::MAX).min(digits.len() + super::MAX_BYTES);
    if scale <= 0 {
        return format!("{digits}{}", "0".repeat(places));
    }
    let fraction = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = fraction.split_at(fraction.len() - places);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::super::{Key, MAX_BYTES};
    use super::text;

    #[test]
    fn a_decimal_is_written_as_its_number() {
        let cases = [
            (("150", 2), "1.5"),
            (("15", 1), "1.5"),
            (("1500", 0), "1500"),
            (("15", -2), "1500"),
            (("100", 2), "1"),
            (("1", 0), "1"),
            (("5", 3), "0.005"),
            (("-50", 4), "-0.005"),
            (("123", 3), "0.123"),
            (("123", 2), "1.23"),
            (("0", 7), "0"),
            (("-0", 2), "0"),
            (("000", -9), "0"),
        ];
        for ((integer, scale), expected) in cases {
            assert_eq!(text(integer, scale), expected, "{integer} with the scale {scale}");
        }
    }

    #[test]
    fn a_number_of_too_many_zeros_is_too_long_and_is_never_written_out() {
        for scale in [i64::MIN, -1_000_000_000, -600, 600, 1_000_000_000, i64::MAX] {
            let text = text("7", scale);
            assert!(text.len() > MAX_BYTES && text.len() < 2 * MAX_BYTES, "{scale}: {}", text.len());
            assert!(Key::new().part(&text).finish().is_err());
        }
    }

    #[cfg(all(feature = "rust_decimal", feature = "bigdecimal"))]
    #[test]
    fn both_crates_write_one_text() {
        use sqlx::types::{BigDecimal, Decimal};
        let of = |key: Key| key.finish().unwrap();
        for written in ["1.50", "1.5", "-0.0050", "0.00", "-0", "100", "79228162514264337593543950335"] {
            let decimal: Decimal = written.parse().unwrap();
            let big: BigDecimal = written.parse().unwrap();
            assert_eq!(of(Key::new().part(&decimal)), of(Key::new().part(&big)), "{written}");
        }
        let [one, other] = ["1.0", "1.00"].map(|written| written.parse::<Decimal>().unwrap());
        assert_eq!(of(Key::new().part(&one)), of(Key::new().part(&other)));
        assert_eq!(of(Key::new().part(&"1E+3".parse::<BigDecimal>().unwrap())), "1000");
    }
}

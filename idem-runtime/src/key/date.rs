//! Calendar dates, written by ISO 8601 whichever crate they are from.

#[cfg(feature = "chrono")]
impl super::KeyPart for sqlx::types::chrono::NaiveDate {
    fn write(&self, part: &mut super::Part) {
        part.text(self);
    }
}

#[cfg(feature = "time")]
impl super::KeyPart for sqlx::types::time::Date {
    fn write(&self, part: &mut super::Part) {
        part.text(text(self.year(), u8::from(self.month()), self.day()));
    }
}

/// As `NaiveDate` is displayed: a year that has not four digits has a sign.
#[cfg(any(feature = "time", test))]
fn text(year: i32, month: u8, day: u8) -> String {
    match year {
        0..=9999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+05}-{month:02}-{day:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_date_is_written_by_iso_8601() {
        let dates = [(2026, 2, 28), (1, 12, 1), (0, 1, 1), (-1, 1, 1), (10_000, 10, 10), (-262_143, 1, 1)];
        let texts = dates.map(|(year, month, day)| text(year, month, day));
        let expected = ["2026-02-28", "0001-12-01", "0000-01-01", "-0001-01-01", "+10000-10-10", "-262143-01-01"];
        assert_eq!(texts, expected);
    }

    #[cfg(all(feature = "chrono", feature = "time"))]
    #[test]
    fn both_crates_write_one_text() {
        use super::super::Key;
        use sqlx::types::{chrono::NaiveDate, time::Date};
        for (year, day) in [(2026, 59), (1, 335), (0, 1), (-1, 1), (9_999, 365), (-9_999, 1)] {
            let chrono = NaiveDate::from_yo_opt(year, day.into()).unwrap();
            let time = Date::from_ordinal_date(year, day).unwrap();
            let keys = [Key::new().part(&chrono), Key::new().part(&time)];
            let [chrono, time] = keys.map(|key| key.finish().unwrap());
            assert_eq!(chrono, time);
        }
    }
}

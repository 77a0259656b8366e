use super::*;

/// Two texts in one part.
struct Twice(&'static str, &'static str);

impl KeyPart for Twice {
    fn write(&self, part: &mut Part) {
        part.text(self.0);
        part.text(self.1);
    }
}

/// A value and nothing in one part.
struct Both(&'static str);

impl KeyPart for Both {
    fn write(&self, part: &mut Part) {
        part.text(self.0);
        part.option(None::<&i64>);
    }
}

struct Nothing;

impl KeyPart for Nothing {
    fn write(&self, _: &mut Part) {}
}

fn fault<T>(made: Result<T, Error>) -> &'static str {
    match made.err() {
        Some(Error::InvalidKey { reason }) => reason,
        _ => "none",
    }
}

#[test]
fn a_part_is_written_once() {
    let more = "a part was written more than once";
    assert_eq!(fault(Key::new().part(&Twice("ab", "c")).finish()), more);
    assert_eq!(fault(Key::new().part(&Both("a")).finish()), more);
    assert_eq!(fault(Key::new().part(&1).part(&Nothing).finish()), "a part is empty");
    assert_eq!(fault(cause(&Twice("ab", "c"))), more);
    assert_eq!(fault(cause(&Nothing)), "a cause cannot be empty");
}

/// Stored by running services: these never change.
#[test]
fn golden_keys() {
    let key = Key::new()
        .part(&7_i64)
        .part("a/b%~\0\u{7f}é :|")
        .part(&true)
        .part(&Some("~"))
        .part(&None::<i64>)
        .part(&Some(None::<i64>))
        .part(&uuid::Uuid::from_u128(0x00C0_FFEE));
    let expected = "7/a%2Fb%25%7E%00%7Fé :|/true/%7E/~/~~/00000000-0000-0000-0000-000000c0ffee";
    assert_eq!(key.finish().unwrap(), expected);
}

#[test]
fn a_key_has_512_bytes_at_most_as_it_is_stored() {
    assert_eq!(Key::new().part(&"é".repeat(256)).finish().unwrap().len(), MAX_BYTES);
    assert_eq!(Key::new().part(&"a".repeat(510)).part("b").finish().unwrap().len(), MAX_BYTES);
    let long = "it is longer than 512 bytes";
    assert_eq!(fault(Key::new().part(&"a".repeat(513)).finish()), long);
    assert_eq!(fault(Key::new().part(&"a".repeat(511)).part("b").finish()), long);
    assert_eq!(fault(Key::new().part(&"/".repeat(171)).finish()), long);
    assert_eq!(fault(Key::new().part(&None::<i64>).part(&"a".repeat(1 << 20)).finish()), long);
    assert_eq!(cause(&"é".repeat(256)).unwrap().len(), MAX_BYTES);
    assert_eq!(fault(cause(&"a".repeat(513))), "a cause is longer than 512 bytes");
}

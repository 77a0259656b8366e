use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::*;

/// A fingerprint and the parts that have it, a line each. Stored by running services: a line never changes. Each
/// fingerprint was computed by another program.
const VECTORS: &str = include_str!("vectors.txt");

fn of(parts: &[Value]) -> String {
    parts.iter().fold(Fingerprint::new(), Fingerprint::part).finish().unwrap()
}

fn of_one<T: Serialize + ?Sized>(part: &T) -> String {
    Fingerprint::new().part(part).finish().unwrap()
}

fn vectors() -> impl Iterator<Item = (&'static str, Vec<Value>)> {
    let lines = VECTORS.lines().map(|line| line.split_once(' ').unwrap());
    lines.map(|(fingerprint, parts)| (fingerprint, serde_json::from_str(parts).unwrap()))
}

#[test]
fn golden_vectors() {
    for (expected, parts) in vectors() {
        assert_eq!(of(&parts), expected, "{parts:?}");
    }
    assert!(vectors().count() > 40, "the table was not read");
}

/// Two lines of the table have one fingerprint if their numbers are equal and their fields are in another order.
#[test]
fn only_equal_payloads_of_the_table_have_one_fingerprint() {
    let mut same = BTreeMap::<_, Vec<_>>::new();
    for (fingerprint, parts) in vectors() {
        same.entry(fingerprint).or_default().push(Value::from(parts).to_string());
    }
    let mut same: Vec<_> = same.into_values().filter(|payloads| payloads.len() > 1).collect();
    same.sort();
    let purchase = r#"[{"amount":1999,"currency":"CNY"}]"#;
    assert!(same.iter().any(|payloads| payloads.len() == 3 && payloads[0] == purchase), "{same:?}");
    let numbers: Vec<_> = same.iter().filter(|payloads| payloads[0] != purchase).collect();
    assert_eq!(
        numbers,
        [&["[0]", "[-0.0]", "[0.0]"][..], &["[1]", "[1.0]", "[1.0]"], &["[9007199254740992]", "[9007199254740992.0]"]]
    );
}

#[derive(Serialize)]
struct Order {
    note: Option<&'static str>,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    sku: &'static str,
    count: f64,
}

/// The type that holds a value does not count, nor does the order in which a map or a struct gives it.
#[test]
fn values_have_the_fingerprint_of_their_json() {
    let lines = vec![Line { sku: "A-1", count: 2.0 }, Line { sku: "B-2", count: 1.0 }];
    let json = json!({"lines": [{"count": 2, "sku": "A-1"}, {"count": 1, "sku": "B-2"}], "note": null});
    assert_eq!(of_one(&Order { note: None, lines }), of(&[json]));
    assert_eq!(of_one(&1_u8), of_one(&1.0_f32));
    assert_eq!(of_one(&0.5_f32), of_one(&0.5_f64));
    assert_eq!(of_one(&HashMap::from([(1, "a"), (10, "b"), (2, "c")])), of(&[json!({"1": "a", "2": "c", "10": "b"})]));
}

#[test]
fn the_order_of_a_map_does_not_count_and_the_order_of_parts_does() {
    let one: HashMap<_, _> = (0..50).map(|n| (format!("k{n}"), n)).collect();
    let two: HashMap<_, _> = (0..50).rev().map(|n| (format!("k{n}"), n)).collect();
    assert_eq!(of_one(&one), of_one(&two));
    assert_ne!(of(&[json!("a"), json!("b")]), of(&[json!("b"), json!("a")]));
}

#[test]
fn what_is_no_json_has_no_fingerprint() {
    for float in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(Fingerprint::new().part(&float).part(&1).finish(), Err(Error::Unencodable { .. })));
    }
    assert!(Fingerprint::new().part(&1).part(&Some(())).finish().is_err());
}

#[test]
fn another_version_is_neither_equal_nor_a_mismatch() {
    let (one, two) = (of_one(&1), of_one(&2));
    assert!(compare(&one, &one).is_ok());
    assert!(matches!(compare(&two, &one), Err(Error::Mismatch)));
    for unknown in [one.replace("v1:", "v2:"), String::new()] {
        assert!(matches!(compare(&unknown, &one), Err(Error::Configuration(_))), "{unknown}");
    }
}

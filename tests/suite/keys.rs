//! Which calls are one call: keys, scopes, and the results that are kept for them.

use std::collections::BTreeSet;

use idem_runtime::__private::Key;
use idem_runtime::prelude::*;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::acts::{act, create_tables, effect, left, records, result, write};
use crate::answers::answer;
use crate::settle::PayError;
use crate::shop::order_status::Cancel;
use crate::shop::{self, OrderStatus, new_order};
use crate::support::{BoxError, Engine, Suite, TestDb, TestResult, ensure, on_every_engine};

/// Adds the tests.
pub(crate) fn add(suite: &mut Suite) {
    suite.add_plain("i20_keys_are_equal_if_their_parts_are", i20_keys_are_equal_if_their_parts_are);
    on_every_engine!(
        suite,
        [
            i17_two_functions_share_no_record,
            i19_a_changed_argument_changes_no_key,
            i20_records_are_one_if_their_parts_are_equal,
            i24_a_key_of_512_bytes_is_whole_and_a_longer_one_is_refused,
            i32_every_kind_of_part_is_stable,
            i21_i22_keys_are_compared_as_bytes,
            i26_an_empty_key_is_refused_everywhere,
            an_undecodable_result_never_runs_again,
        ]
    );
}

#[idempotent(scope = "test.left", key = key)]
async fn left_hand<DB: Engine>(tx: &mut Tx<'_, DB>, key: &str) -> Result<Once<i64>, PayError> {
    effect(tx, &format!("left {key}")).await?;
    Ok(7.into())
}

#[idempotent(scope = "test.right", key = key)]
async fn right_hand<DB: Engine>(tx: &mut Tx<'_, DB>, key: &str) -> Result<Once<String>, PayError> {
    effect(tx, &format!("right {key}")).await?;
    Ok("seven".to_owned().into())
}

async fn i17_two_functions_share_no_record<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    for is_replay in [false, true] {
        result!(left_hand(&idem, "k").await, 7, is_replay: is_replay);
        result!(right_hand(&idem, "k").await, "seven", is_replay: is_replay);
    }
    left(&db, ["left k,right k", "k:2,k:2"]).await
}

/// Everything that a body could change before its result is stored.
#[idempotent(scope = "test.greedy", key = (name, order.0), payload = (amount, order.1))]
async fn greedy<DB: Engine>(
    tx: &mut Tx<'_, DB>,
    mut name: String,
    mut amount: i64,
    order: &mut (i64, i64),
) -> Result<Once<i64>, PayError> {
    effect(&mut *tx, &name).await?;
    name.push_str(" changed");
    amount += 1;
    *order = (order.0 + 1, order.1 + 1);
    effect(tx, &name).await?;
    Ok(amount.into())
}

async fn i19_a_changed_argument_changes_no_key<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let mut order = (1, 10);
    result!(greedy(&idem, "k".into(), 5, &mut order).await, 6, is_replay: false);
    ensure!(order == (2, 11), "the body has changed its argument: {order:?}");
    result!(greedy(&idem, "k".into(), 5, &mut (1, 10)).await, 6, is_replay: true);
    answer!(greedy(&idem, "k".into(), 6, &mut (1, 11)).await, Err(PayError::Idem(Error::Mismatch)));
    left(&db, ["k,k changed", "k/1:2"]).await?;
    result!(greedy(&idem, "k".into(), 5, &mut order).await, 6, is_replay: false);
    left(&db, ["k,k,k changed,k changed", "k/1:2,k/2:2"]).await
}

/// What joins parts somewhere, escapes something, or is nothing.
const TOKENS: [&str; 22] = [
    "", "", "a", "b", "c", ":", "|", "#", "/", "%", "~", "~~", "\0", "\u{1f}", "%2F", "%7E", "a/b", " ", "é",
    "e\u{301}", "\u{fffd}", "\\",
];

/// A part, and how it is nothing when it is.
type Maybe = Option<Option<String>>;

type Parts = Vec<Maybe>;

fn random_parts(random: &mut ChaCha8Rng, length: usize) -> Parts {
    (0..length)
        .map(|_| match random.random_range(0..10) {
            0 => None,
            1 => Some(None),
            _ => Some(Some(random_text(random))),
        })
        .collect()
}

fn random_text(random: &mut ChaCha8Rng) -> String {
    let tokens = random.random_range(0..3);
    let mut text: String = (0..tokens).filter_map(|_| TOKENS.choose(random)).copied().collect();
    if random.random_bool(0.1) {
        text.push(random.random());
    }
    text
}

fn is_valid(parts: &Parts) -> bool {
    parts.iter().flatten().flatten().all(|part| !part.trim().is_empty())
}

/// The text of a key is not public: its debug form shows it.
fn text_of(key: &Key) -> String {
    let shown = format!("{key:?}");
    let end = shown.find(", parts: ").unwrap_or(shown.len());
    shown[..end].to_owned()
}

/// The text of a record's key, in the same form.
fn text_of_record(key: &str) -> String {
    format!("Key {{ text: {key:?}")
}

fn key_of(parts: &Parts) -> String {
    text_of(&parts.iter().fold(Key::new(), Key::part))
}

async fn i20_keys_are_equal_if_their_parts_are() -> TestResult {
    let mut random = ChaCha8Rng::seed_from_u64(20);
    let mut tuples = BTreeSet::new();
    while tuples.len() < 20_000 {
        let length = random.random_range(1..4);
        let parts = random_parts(&mut random, length);
        ensure!(key_of(&parts) == key_of(&parts.clone()), "one tuple has two keys: {parts:?}");
        if is_valid(&parts) {
            tuples.insert(parts);
        }
    }
    let keys: BTreeSet<_> = tuples.iter().map(key_of).collect();
    ensure!(keys.len() == tuples.len(), "{} tuples have {} keys", tuples.len(), keys.len());
    let nothings = [text_of(&Key::new().part(&None::<Option<i32>>)), text_of(&Key::new().part(&Some(None::<i32>)))];
    ensure!(nothings[0] != nothings[1], "two kinds of nothing have one key: {nothings:?}");
    Ok(())
}

#[idempotent(scope = "test.pair", key = (one, two))]
async fn pair<DB: Engine>(_tx: &mut Tx<'_, DB>, one: Maybe, two: Maybe) -> Result<Once<String>, PayError> {
    Ok(format!("{one:?} {two:?}").into())
}

/// The result of a call names its key: a call that is taken for another one gets the other one's name. What was stored
/// is read back byte for byte.
async fn i20_records_are_one_if_their_parts_are_equal<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    let mut random = ChaCha8Rng::seed_from_u64(2020);
    let known =
        [["a", "b:c"], ["a:b", "c"], ["ab", "c"], ["a", "bc"], ["a", "b/c"], ["a/b", "c"], ["~", "a"], ["~~", "a"]];
    let known = known.map(|parts| parts.map(|part| Some(Some(part.to_owned()))).to_vec());
    let nothings = [None, Some(None)].map(|nothing| vec![nothing, Some(Some("a".to_owned()))]);
    let drawn = (0..200).map(|_| random_parts(&mut random, 2));
    let mut valid = BTreeSet::new();
    for parts in known.into_iter().chain(nothings).chain(drawn) {
        let answer = pair(&idem, parts[0].clone(), parts[1].clone()).await;
        if is_valid(&parts) {
            let is_replay = !valid.insert(parts.clone());
            result!(answer, format!("{:?} {:?}", parts[0], parts[1]), is_replay: is_replay);
        } else {
            answer!(answer, Err(PayError::Idem(Error::InvalidKey { .. })));
        }
    }
    let stored: BTreeSet<_> = stored_keys(&db).await?.iter().map(|key| text_of_record(key)).collect();
    let expected: BTreeSet<_> = valid.iter().map(key_of).collect();
    ensure!(expected.len() == valid.len(), "{} keys for {} pairs", expected.len(), valid.len());
    ensure!(stored == expected, "stored: {:?}", stored.symmetric_difference(&expected).collect::<Vec<_>>());
    Ok(())
}

/// The keys of all records.
async fn stored_keys<DB: Engine>(db: &TestDb<DB>) -> Result<Vec<String>, BoxError> {
    let key = if DB::DIALECT == Dialect::MySql { "`key`" } else { "key" };
    let rows = db.rows(format!("SELECT {key} FROM idem_record ORDER BY {key}")).await?;
    Ok(rows.concat())
}

/// Of random bytes, which no index can store shorter than they are.
fn long_text(random: &mut ChaCha8Rng, bytes: usize) -> String {
    const LETTERS: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-_.:|";
    (0..bytes).filter_map(|_| LETTERS.choose(random)).map(|letter| char::from(*letter)).collect()
}

async fn i24_a_key_of_512_bytes_is_whole_and_a_longer_one_is_refused<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let long = long_text(&mut ChaCha8Rng::seed_from_u64(24), 511);
    // They differ in their last byte alone; the last of them takes 512 bytes as it is stored.
    let keys = [format!("{long}a"), format!("{long}b"), long.clone(), "é".repeat(256), format!("{}//", &long[..506])];
    for is_replay in [false, true] {
        for (payload, key) in (0..).zip(&keys) {
            let answer = act(&idem, key, payload, |_| Box::pin(async move { Ok(payload) }));
            result!(answer.await, payload, is_replay: is_replay);
        }
    }
    for key in [format!("{long}ab"), format!("{long}/"), "é".repeat(257), "/".repeat(171), "x".repeat(1024 * 1024)] {
        answer!(write(&idem, &key, 1).await, Err(PayError::Idem(Error::InvalidKey { .. })));
    }
    let mut expected = keys.map(|key| key.replace('/', "%2F"));
    expected.sort();
    ensure!(stored_keys(&db).await? == expected, "a key was changed");
    left(&db, ["", &expected.map(|key| format!("{key}:2")).join(",")]).await
}

/// A newtype, with a name for what it holds.
#[derive(KeyPart)]
struct OrderId {
    raw: i64,
}

/// A newtype of anything.
#[derive(KeyPart)]
struct Of<'a, T>(&'a T);

#[derive(KeyPart)]
enum Channel {
    AliPay,
    #[key(rename = "wx/2")]
    WeChat,
}

#[idempotent(scope = "test.kinds", key = (order, of, channel, uuid, flag, other))]
async fn kinds<DB: Engine>(
    _tx: &mut Tx<'_, DB>,
    order: OrderId,
    of: Of<'_, Option<OrderId>>,
    channel: &Channel,
    uuid: uuid::Uuid,
    flag: bool,
    other: Option<Box<Channel>>,
) -> Result<Once<i64>, PayError> {
    Ok(order.raw.into())
}

async fn i32_every_kind_of_part_is_stable<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(1).await?;
    let uuid = uuid::Uuid::from_u128(0x00C0_FFEE);
    for is_replay in [false, true] {
        let (order, none) = (OrderId { raw: 7 }, None);
        let answer = kinds(&idem, order, Of(&none), &Channel::AliPay, uuid, true, Some(Box::new(Channel::WeChat)));
        result!(answer.await, 7, is_replay: is_replay);
    }
    let other = kinds(&idem, OrderId { raw: 7 }, Of(&None), &Channel::AliPay, uuid, true, None);
    result!(other.await, 7, is_replay: false);
    let stored = stored_keys(&db).await?;
    let expected = ["wx%2F2", "~"].map(|last| format!("7/~/AliPay/00000000-0000-0000-0000-000000c0ffee/true/{last}"));
    ensure!(stored == expected, "{stored:?}");
    Ok(())
}

async fn i21_i22_keys_are_compared_as_bytes<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    let case_accent_and_width = ["Req-A", "req-a", "REQ-A", "e", "é", "e\u{301}", "E", "a", "ａ", "ß", "ss", "ﬀ", "ff"];
    let spaces = ["k", "k ", " k", "k  ", "k\t", "k\u{a0}", "k\u{3000}", "k\u{200b}", "k\0", "k\n"];
    for is_replay in [false, true] {
        for (payload, key) in (0..).zip(case_accent_and_width.into_iter().chain(spaces)) {
            // PostgreSQL's text holds no NUL: the effect's name does not matter here.
            let answer = act(&idem, key, payload, |tx| {
                Box::pin(async move {
                    effect(tx, "e").await?;
                    Ok(payload)
                })
            });
            result!(answer.await, payload, is_replay: is_replay);
        }
    }
    let records = db.integer("SELECT COUNT(*) FROM idem_record").await?;
    ensure!(usize::try_from(records)? == case_accent_and_width.len() + spaces.len(), "{records} records");
    Ok(())
}

async fn i26_an_empty_key_is_refused_everywhere<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    shop::create_tables(&db).await?;
    new_order(&db, 1).await?;
    for key in ["", " ", "\t", "\r\n", "\u{a0}", "\u{3000}", " \u{2003} "] {
        answer!(write(&idem, key, 1).await, Err(PayError::Idem(Error::InvalidKey { .. })));
        let pair = pair(&idem, Some(Some("a".into())), Some(Some(key.into()))).await;
        answer!(pair, Err(PayError::Idem(Error::InvalidKey { .. })));
        let cancel = OrderStatus::row(1).fire(Cancel).cause(key).run(&idem).await;
        answer!(cancel, Err(TransitionError::Runtime(Error::InvalidKey { .. })));
        let mut tx = idem.begin().await?;
        answer!(write(&mut *tx, key, 1).await, Err(PayError::Idem(Error::InvalidKey { .. })));
        effect(&mut tx, "after").await?;
        tx.rollback().await?;
    }
    ensure!(shop::status(&db, 1).await? == "pending 0", "a transition without a cause of its own");
    left(&db, ["", ""]).await
}

async fn an_undecodable_result_never_runs_again<DB: Engine>(db: TestDb<DB>) -> TestResult {
    let idem = db.idem(2).await?;
    create_tables(&db).await?;
    result!(write(&idem, "k", 1).await, 1, is_replay: false);
    for edited in ["not JSON", "\"a text\"", "", "null"] {
        db.execute(format!("UPDATE idem_record SET result = '{edited}'")).await?;
        for idem in [&idem, &db.idem(1).await?] {
            answer!(write(idem, "k", 1).await, Err(PayError::Idem(ref error @ Error::Undecodable(_))) if error.is_done());
            answer!(write(idem, "k", 2).await, Err(PayError::Idem(Error::Mismatch)));
        }
        let mut tx = idem.begin().await?;
        answer!(write(&mut *tx, "k", 1).await, Err(PayError::Idem(Error::Undecodable(_))));
        tx.commit().await?;
    }
    ensure!(records(&db).await? == "k:2", "the record stays");
    left(&db, ["k", "k:2"]).await
}

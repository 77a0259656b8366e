//! Idempotent functions in every form that a function can have, and what surrounds them. All are compiled; what can be
//! seen without a database is asserted.

use idem_runtime::prelude::*;
use sqlx::Sqlite;

/// What a strict crate denies.
mod strict {
    #![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic)]

    use std::fmt::Display;

    use idem_runtime::{Attempt, KeyPart, Probe, prelude::*};
    use serde::{Deserialize, Serialize};
    use sqlx::Sqlite;

    /// A shop.
    #[derive(Debug, Clone, Copy)]
    pub(crate) struct Shop {
        pub(crate) id: i64,
        pub(crate) calls: u32,
    }

    /// A point of two coordinates.
    #[derive(Debug, Clone, Copy, Serialize)]
    pub(crate) struct Point {
        pub(crate) x: i64,
        pub(crate) y: i64,
    }

    impl Shop {
        /// With the shop as it is.
        #[idempotent(scope = "shop.copied", key = (self.id, order_id))]
        pub(crate) async fn copied(self, _tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
            Ok(self.id + order_id)
        }

        /// With a shop that others see too.
        #[idempotent(scope = "shop.shared", key = (self.id, order_id))]
        pub(crate) async fn shared(&self, tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
            self.copied(tx, order_id).await
        }

        /// With a shop that the body changes.
        #[idempotent(scope = "shop.changed", key = (self.id, order_id))]
        pub(crate) async fn changed(&mut self, tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
            self.calls += 1;
            self.shared(tx, order_id).await
        }

        /// With a shop that each run of the body sees.
        #[idempotent(scope = "shop.rerun", key = (self.id, order_id), rerun = 1)]
        pub(crate) async fn rerun(&self, tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
            self.shared(tx, 1).await
        }

        /// Under a lease, with a shop that the probe sees too.
        #[idempotent(scope = "shop.leased", key = (self.id, name), payload = more, on_expired = probe(Self::asked))]
        pub(crate) async fn leased<DB: SqlDialect, K: Display + Serialize + Clone + Sync + Send>(
            &self,
            attempt: &mut Attempt<'_, DB>,
            mut name: String,
            more: K,
            lines: &[i64],
        ) -> Result<Once<i64>, Error> {
            let _: &mut Attempt<'_, DB> = attempt;
            name.push('!');
            Ok((self.id + lines[0]).into())
        }

        async fn asked<DB: SqlDialect, K: Display>(
            &self,
            attempt: &mut Attempt<'_, DB>,
            name: String,
            more: K,
            lines: &[i64],
        ) -> Result<Probe<i64>, Error> {
            let _: &mut Attempt<'_, DB> = attempt;
            let asked = std::future::ready(format!("{name}{more}")).await;
            Ok(if asked.is_empty() { Probe::Absent } else { Probe::Done(lines[0]) })
        }

        /// Under a lease, with a shop of its own, and an attempt that is not used.
        #[idempotent(scope = "shop.held", key = self.id, lease = "1m 30s", on_expired = hold)]
        pub(crate) async fn held(mut self, _: &mut Attempt<'_, Sqlite>) -> Result<i64, Error> {
            self.calls += 1;
            Ok(self.id + i64::from(self.calls))
        }

        /// Without a shop, and with one under another name.
        #[idempotent(scope = "shop.of", key = shop.id)]
        pub(crate) async fn of(tx: &mut Tx<'_, Sqlite>, shop: &Self) -> Result<i64, Error> {
            shop.shared(&mut *tx, 1).await
        }
    }

    /// Generic over the database, a key, an array's length, and what an `impl` hides; with a `where` clause.
    #[idempotent(scope = "shop.generic", key = (name, more), payload = lines)]
    pub(crate) async fn generic<'n, DB, K, const N: usize>(
        tx: &mut Tx<'_, DB>,
        name: &'n str,
        more: K,
        lines: [i64; N],
        shown: impl Fn(&K) -> String + Send,
    ) -> Result<String, Error>
    where
        DB: SqlDialect,
        K: KeyPart + Display + Send + Sync,
        [i64; N]: Serialize,
    {
        let _: &mut Tx<'_, DB> = tx;
        Ok(format!("{name}{more}{}{}", lines.len(), shown(&more)))
    }

    /// Under a lease, with arguments that are taken apart and changed, and names that the expansion could take for its own.
    #[idempotent(scope = "shop.taken-over", key = (x, idem), on_expired = takeover, downstream = idempotent)]
    pub(crate) async fn taken_over(
        attempt: &mut Attempt<'_, Sqlite>,
        Point { x, mut y }: Point,
        count: &mut i64,
        leased: i64,
        found: i64,
        idem: i64,
        _: String,
    ) -> Result<i64, Failure> {
        let _ = attempt;
        y += 1;
        *count += 1;
        if y == leased {
            return Err(Failure::Refused);
        }
        Ok(x + y + found + idem)
    }

    /// Under a lease, with arguments that only the key or the probe uses.
    #[idempotent(scope = "shop.probed", key = only_in_key, on_expired = probe(probe))]
    pub(crate) async fn probed(
        _attempt: &mut Attempt<'_, Sqlite>,
        only_in_key: String,
        only_in_probe: i64,
    ) -> Result<i64, Failure> {
        Ok(1)
    }

    async fn probe(attempt: &mut Attempt<'_, Sqlite>, key: String, answer: i64) -> Result<Probe<i64>, Failure> {
        let _ = std::future::ready((attempt, key)).await;
        Ok(if answer == 0 { Probe::Unknown } else { Probe::Done(answer) })
    }

    /// Arguments that are taken apart, and one of which nothing is taken.
    #[idempotent(scope = "shop.patterns", key = (a, x, items.len()), payload = (b, y))]
    pub(crate) async fn patterns(
        _: &mut Tx<'_, Sqlite>,
        (a, mut b): (i64, i64),
        Point { x, y }: Point,
        items @ [first, ..]: [i64; 3],
        _: String,
    ) -> Result<i64, Error> {
        b += 1;
        Ok(a + b + x + y + first + items[2])
    }

    /// Arguments that the body changes.
    #[idempotent(scope = "shop.changed-arguments", key = name)]
    pub(crate) async fn changed_arguments(
        tx: &mut Tx<'_, Sqlite>,
        mut name: String,
        count: &mut i64,
    ) -> Result<String, Error> {
        name.push('!');
        *count += Shop { id: 1, calls: 0 }.shared(tx, 1).await?;
        Ok(name)
    }

    /// Why a body has failed.
    #[derive(Debug, Serialize, Deserialize, thiserror::Error)]
    pub(crate) enum Failure {
        #[error("refused")]
        Refused,
        #[error(transparent)]
        #[serde(skip)]
        Idem(#[from] Error),
    }

    impl Failure {
        const fn is_final(&self) -> bool {
            matches!(self, Self::Refused)
        }
    }

    const fn upgraded(old: i32) -> i64 {
        old as i64
    }

    /// Every option, and arguments in every form, which each run of the body has for itself.
    #[idempotent(
        scope = "shop.options",
        key = a,
        payload = said,
        wait = "1h 30m",
        retain(result = "7d", key = forever),
        record_err = Failure::is_final,
        rerun = 3,
        upgrade = upgraded
    )]
    pub(crate) async fn options<K: Display + Clone + Send>(
        tx: &mut Tx<'_, Sqlite>,
        (a, mut b): (i64, i64),
        Point { x, y: mut other }: Point,
        mut name: String,
        said: &str,
        more: K,
        shown: impl FnOnce(&K) -> String + Clone + Send,
    ) -> Result<i64, Failure> {
        b += a;
        other += x;
        name.push_str(said);
        let shop = Shop { id: b + other, calls: 0 };
        if name == shown(&more) {
            return Err(Failure::Refused);
        }
        drop(more);
        Ok(shop.rerun(&mut *tx, 1).await?)
    }

    /// Arguments of which a body that can run again makes no use, or which are not always there.
    #[idempotent(scope = "shop.hardly-used", key = only_in_key, rerun = 1)]
    pub(crate) async fn hardly_used(
        _: &mut Tx<'_, Sqlite>,
        only_in_key: String,
        #[cfg(true)] mut kept: u32,
        #[cfg(false)] removed: Missing,
        _not_used: Vec<String>,
        (_a, _): (String, String),
        _: String,
    ) -> Result<u32, Error> {
        kept += 1;
        Ok(kept)
    }

    /// A result that says whether it is a replay, early ends, and names that the expansion could take for its own.
    #[idempotent(scope = "shop.ends", key = key, payload = payload)]
    pub(crate) async fn ends(
        tx: &mut Tx<'_, Sqlite>,
        key: i64,
        payload: i64,
        claimed: i64,
        codec: i64,
        begin: i64,
    ) -> Result<Once<i64>, Error> {
        let out = async {
            if key == claimed {
                return Err(Error::Mismatch);
            }
            Ok(codec + begin)
        };
        let inside = out.await?;
        for _ in 0..payload {
            if inside > 0 {
                return Ok(inside.into());
            }
        }
        Ok((key + Shop::of(tx, &Shop { id: 1, calls: 0 }).await?).into())
    }
}

/// Attributes and documentation stay where they are, and lints that they silence stay silent.
mod attributes {
    #![deny(warnings, missing_docs, clippy::pedantic)]

    use idem_runtime::prelude::*;
    use sqlx::Sqlite;

    /// Said before the attribute.
    #[must_use = "it says what was done"]
    #[idempotent(scope = "notes.write", key = id)]
    #[allow(clippy::unused_async, reason = "the attribute of the user")]
    /// Said after it.
    #[cfg_attr(true, inline)]
    pub(crate) async fn write(
        tx: &mut Tx<'_, Sqlite>,
        id: i64,
        #[cfg(true)] kept: i64,
        #[cfg(false)] removed: Missing,
    ) -> Result<i64, Error> {
        let _ = tx;
        Ok(id + kept)
    }

    #[cfg(false)]
    #[idempotent(scope = "notes.absent", key = id)]
    async fn absent(tx: &mut Tx<'_, Missing>, id: i64) -> Result<Missing, Missing> {}

    /// Its callers are warned.
    #[deprecated = "write instead"]
    #[idempotent(scope = "notes.old", key = id)]
    pub(crate) async fn old(tx: &mut Tx<'_, Sqlite>, id: i64) -> Result<i64, Error> {
        write(tx, id, 1).await
    }

    #[expect(deprecated)]
    pub(crate) fn warned(idem: &Idem<Sqlite>) -> impl Future<Output = Result<i64, Error>> + Send + '_ {
        old(idem, 1)
    }
}

/// Names that an expansion could take for its own, and nothing else in scope.
mod shadowed {
    #![no_implicit_prelude]

    mod core {}
    mod std {}
    mod sqlx {}
    mod serde {}
    mod idem_runtime {}
    struct Result;
    struct Option;
    struct Begin;
    struct Spec;
    struct Key;
    struct Send;
    struct Future;

    type Answer = ::std::result::Result<i64, ::idem_runtime::Error>;

    struct Clone;

    #[::idem_runtime::idempotent(scope = "shadowed.again", key = id, retain(key = "1h"), rerun = 1)]
    pub(super) async fn again(tx: &mut ::idem_runtime::Tx<'_, ::sqlx::Sqlite>, id: i64) -> Answer {
        of_nothing(tx, id).await
    }

    struct Idem;
    struct Probe;

    #[::idem_runtime::idempotent(scope = "shadowed.leased", key = id, lease = "1s", on_expired = probe(ask))]
    pub(super) async fn leased(attempt: &mut ::idem_runtime::Attempt<'_, ::sqlx::Sqlite>, id: i64) -> Answer {
        let _ = attempt;
        ::std::result::Result::Ok(id)
    }

    async fn ask(
        attempt: &mut ::idem_runtime::Attempt<'_, ::sqlx::Sqlite>,
        id: i64,
    ) -> ::std::result::Result<::idem_runtime::Probe<i64>, ::idem_runtime::Error> {
        let _ = ::std::future::ready((attempt, id)).await;
        ::std::result::Result::Ok(::idem_runtime::Probe::Unknown)
    }

    #[::idem_runtime::idempotent(scope = "shadowed", key = id)]
    pub(super) async fn of_nothing(tx: &mut ::idem_runtime::Tx<'_, ::sqlx::Sqlite>, id: i64) -> Answer {
        let _ = tx;
        ::std::result::Result::Ok(id)
    }
}

/// A dependency under another name, and a function whose every part comes out of a macro.
mod renamed {
    use idem_runtime as other_name;
    use other_name::prelude::*;
    use other_name::{Attempt, Probe};
    use sqlx::Sqlite;

    macro_rules! leased {
        ($name:ident, $id:ident: $Id:ty, $Attempt:ty, $time:literal, $probe:path, $output:ty, $body:block) => {
            #[idempotent(
                scope = "renamed.leased",
                key = $id,
                lease = $time,
                on_expired = probe($probe),
                crate = other_name
            )]
            pub(super) async fn $name(_attempt: $Attempt, $id: $Id) -> $output $body
        };
    }

    leased!(leased_by_macro, id: i64, &mut Attempt<'_, Sqlite>, "2s", self::ask, Result<i64, Error>, { Ok(id) });

    async fn ask(_: &mut Attempt<'_, Sqlite>, id: i64) -> Result<Probe<i64>, Error> {
        Ok(Probe::Done(std::future::ready(id).await))
    }

    macro_rules! function {
        ($name:ident, $id:ident: $Id:ty, $key:expr, $time:literal, $often:expr, $output:ty, $body:block) => {
            #[idempotent(
                scope = "renamed",
                key = $key,
                wait = $time,
                retain(key = $time),
                rerun = $often,
                crate = other_name
            )]
            pub(super) async fn $name(_tx: &mut Tx<'_, Sqlite>, $id: $Id) -> $output $body
        };
    }

    function!(by_macro, id: i64, id, "2s", 1, Result<i64, Error>, { Ok(id) });
}

/// A task can carry each of the calls.
fn is_send(_: impl Future + Send) {}

#[expect(dead_code, reason = "there is no engine to call it with")]
async fn every_call_can_be_sent(idem: &Idem<Sqlite>, mut shop: strict::Shop) -> Result<(), Error> {
    is_send(shop.copied(idem, 1));
    is_send(shop.shared(idem, 1));
    is_send(strict::Shop::of(idem, &shop));
    is_send(shop.changed(idem, 1));
    is_send(strict::generic(idem, "n", 7_u8, [1, 2], |k| format!("{k}!")));
    is_send(strict::patterns(idem, (1, 2), strict::Point { x: 3, y: 4 }, [5, 6, 7], String::new()));
    is_send(strict::changed_arguments(idem, String::new(), &mut 1));
    is_send(shop.rerun(idem, 1));
    let (point, name) = (strict::Point { x: 3, y: 4 }, String::from("n"));
    is_send(strict::options(idem, (1, 2), point, name, "!", 1, |k| format!("{k}!")));
    let (name, pair) = (String::from("n"), (String::new(), String::new()));
    is_send(strict::hardly_used(idem, name, 1, Vec::new(), pair, String::new()));
    is_send(strict::ends(idem, 1, 2, 3, 4, 5));
    is_send(shop.leased(idem, String::new(), "n", &[1]));
    is_send(shop.held(idem));
    is_send(strict::taken_over(idem, strict::Point { x: 3, y: 4 }, &mut 1, 5, 6, 7, String::new()));
    is_send(strict::probed(idem, String::new(), 1));
    is_send(attributes::write(idem, 1, 2));
    is_send(attributes::warned(idem));
    is_send(shadowed::of_nothing(idem, 1));
    is_send(shadowed::again(idem, 1));
    is_send(shadowed::leased(idem, 1));
    is_send(renamed::by_macro(idem, 1));
    is_send(renamed::leased_by_macro(idem, 1));
    // Inside of a transaction too, and with references to what does not live as long as the engine.
    let mut tx = idem.begin().await?;
    let name = String::from("n");
    is_send(strict::generic(&mut *tx, &name, &name, [1], |k| format!("{k}!")));
    is_send(shop.changed(&mut *tx, 1));
    tx.rollback().await
}

//! The macros of idem. Users name `idem-runtime`, which re-exports and documents them.

mod ctxt;
mod idempotent;
mod key_part;
mod list;
mod machine;
mod sql;
mod suggest;

use proc_macro::TokenStream;

/// Derives a state machine: a transition table that is checked while compiling, and the SQL that moves a row along it.
///
/// ```text
/// #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
/// #[machine(table = "orders", id(order_id: i64), history, rename_all = "snake_case")]
/// #[transition(pay:    Pending        => Paid,     set(paid_at = now, trade_no: String))]
/// #[transition(refund: Paid | Shipped => Refunded)]
/// pub enum OrderStatus { .. }
/// ```
///
/// - `#[machine(..)]`, above the enum:
///   - `table = ".."` (also `schema.table`) and `id(column: Type, ..)`, its primary key.
///   - `status = ".."` and `version = ".."`, the columns that every transition writes, by these names when not given.
///     `version` is an integer column of any size; a full one is an error of the database (MySQL: in its strict mode, the
///     default). `version = none`: the status alone is compared, which does not compile where a row can come back to a
///     state, and not with a history.
///   - `history`, `history = "table"` or `history(name = "table", cause = once, actor, metadata)`, the table of what
///     happened, by default `<table>_history` (`<table>_<status>_history` where the status column is named), where `once`
///     lets a cause move one row only, and `actor` and `metadata` add columns for what a call says of itself.
///   - `repr = text`, the default, `repr = int`, where each state has a `value`, or `repr = native`, an enum type of
///     PostgreSQL, by default the enum's name in snake case, else `repr = native("..")`, and an `ENUM` of MySQL.
///   - `rename_all = ".."`, a rule of serde for what the status column holds, by default the variant's name.
///   - `length = 64`, how many characters the status column takes: a longer value does not compile. 64 when not given,
///     255 at most; an enum type of PostgreSQL takes 63 bytes.
///   - `sqlx`: the enum can also be bound and read by sqlx (`Type`, `Encode`, `Decode`).
///   - `display`: it also has `Display` and `FromStr`, by the names that `rename` and `rename_all` give.
///   - `module = name`, the module of its types, by default the enum's name in snake case.
///   - `crate = path`, the path to the runtime.
/// - `#[transition(event: Source | Source => Target, set(..))]`, above the enum, once an event: `set` takes
///   `column = now`, `column = <literal>` and `column: Type`, a field of the event. Beyond 120 events rustc asks for a
///   higher `#![recursion_limit]`.
/// - `#[create(column: Type, column = now, column = <literal>)]`, above the enum: what the INSERT of a new row writes, beside
///   the initial state and version 0. The columns of the identifier are among those with a type. The module gets a type
///   `New` with a field for each column with a type, and the enum `create(New { .. })`. `fresh_id`, behind the columns: each
///   call makes another identifier, which is not compared when a creation comes again.
/// - `#[unique_while(name: column, column in State | State)]`, above the enum, as often as there are rules: at most one row
///   with these values is in one of the states. The columns are fields of `create` or of the identifier and never NULL, and
///   no transition sets them. The table needs the text of `schema::unique_while`.
/// - `#[state(..)]`, above a variant: `initial`, `terminal`, `rename = ".."`; `value = 3` for `repr = int` (the variant's
///   own number will do: `Paid = 3`); `alias = ".."`, as often as there are other values that stand for the state: they
///   are read and match, and are never written.
///
/// The enum needs no other derive. The macro makes a module by the name of the enum in snake
/// case, with a type a state, a type an event, and `ByState`, whose variants hold a row by its state.
#[proc_macro_derive(StateMachine, attributes(machine, state, transition, create, unique_while))]
pub fn derive_state_machine(input: TokenStream) -> TokenStream {
    machine::derive(input.into()).into()
}

/// Makes a service function idempotent: the first call runs its body, every later one replays the result.
///
/// ```text
/// #[idempotent(scope = "order.pay", key = request_id, payload = (order_id, amount))]
/// async fn pay(tx: &mut Tx<'_, Sqlite>, request_id: &str, order_id: i64, amount: i64) -> Result<Receipt, PayError> {
///     ..
/// }
///
/// pay(&idem, "request-1", 42, 500).await?; // in a transaction of its own
/// pay(&mut *tx, "request-1", 42, 500).await?; // inside of another body, in its transaction
/// ```
///
/// A body that calls the outside world runs on an attempt in place of the transaction, under a lease:
///
/// ```text
/// #[idempotent(scope = "transfer.send", key = id, payload = amount, lease = "30s", on_expired = probe(ask))]
/// async fn send(attempt: &mut Attempt<'_, Sqlite>, bank: &Bank, id: i64, amount: i64) -> Result<Receipt, SendError> {
///     let key = attempt.external("bank.send").await?; // the same at every retry; from here on the call is in doubt
///     let receipt = bank.send(&key, amount).await?;
///     let mut tx = attempt.tx().await?;
///     ..
///     tx.commit().await?;
///     Ok(receipt)
/// }
///
/// /// Asks the bank what has come of a call that was lost.
/// async fn ask(
///     attempt: &mut Attempt<'_, Sqlite>,
///     bank: &Bank,
///     id: i64,
///     amount: i64,
/// ) -> Result<Probe<Receipt>, SendError> {
///     ..
/// }
///
/// send(&idem, &bank, 7, 500).await?;
/// ```
///
/// The claim is committed before the body runs. A call that ends without a result before it has begun anything outside, or
/// committed an `attempt.tx()`, has not happened: the next one runs the body. After that it is in doubt, and `on_expired`
/// says what the next one does.
///
/// - `scope = ".."` names whose keys these are; renaming the function must not change it.
/// - `key = ..`, one expression of the arguments or a tuple of them, is the same on every retry and another for other
///   work: integers, strings, `bool`, `Uuid`, decimals, calendar dates, `Option` of these, and types of your own by
///   `#[derive(KeyPart)]`.
/// - `payload = ..`, the same way, is what must not differ between two calls with one key; else the answer is `Mismatch`.
/// - `wait = "2s"`, how long a duplicate of a running call waits for it; `"0s"`, not at all. 2 s when not given.
/// - `retain(result = "7d", key = forever)`, how long the result and the key are kept once the call has ended. After the
///   result's time the answer is `Gone`; after the key's the record may be removed. A key without a time is kept for
///   ever, and a result without one as long as its key.
/// - `record_err = path`, a `fn(&E) -> bool`: an error that it says yes to is stored and replayed, and what the body wrote
///   is rolled back, except for what an `attempt.tx()` has committed. `E: Serialize + DeserializeOwned`.
/// - `rerun = 3`, how often the body runs again when the database gives up its transaction, as it does for a deadlock. The
///   arguments are `Clone`, `self` is `&self`, and the body does nothing outside of `tx`.
/// - `lease = "30s"`, how long the claim of a lost process is respected; 30 s when not given. It is renewed while the body
///   runs.
/// - `on_expired`, what becomes of a call in doubt whose lease is over: `hold`, the default, answers `Indeterminate` until
///   an operator settles it. `probe(path)` calls a function that takes what this one takes, and finds out:
///   `Probe::Done(T)` is the result from now on, and the body does not run, so that the probe does what else it would have
///   done; `Probe::Absent` runs the body, `Probe::Unknown` answers `Indeterminate`.
///   The arguments are `Clone`, `self` is `&self`. `takeover` runs the body again, which needs `downstream = idempotent`.
/// - `downstream = idempotent`, the promise that goes with `takeover`: the provider honours the downstream key, so that a
///   second call with it does nothing.
/// - `upgrade = path`, a `fn(Old) -> T` for results that were stored when `T` had another shape. `Old: DeserializeOwned`.
/// - `crate = path`, the path to the runtime.
///
/// A span of time is a number with a unit, or several: `"500ms"`, `"1h 30m"`. The function, or method, is `async`; its
/// first parameter after `self` is `tx: &mut Tx<'_, DB>` or `attempt: &mut Attempt<'_, DB>`. It returns `Result<T, E>` or
/// `Result<Once<T>, E>`, where `T: Serialize + DeserializeOwned` and `E: From<idem_runtime::Error>`.
#[proc_macro_attribute]
pub fn idempotent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    idempotent::attribute(arguments.into(), item.into()).into()
}

/// Makes a type of one value part of idempotency keys and causes.
///
/// ```text
/// #[derive(KeyPart)]
/// struct OrderId(i64);
///
/// #[derive(KeyPart)]
/// enum Channel {
///     AliPay,
///     #[key(rename = "wx")]
///     WeChat,
/// }
/// ```
///
/// - A struct with one field, named or not, is written as the field is, so that a key stays the same when a plain value
///   becomes a type of its own. Type parameters are fine, and a `PhantomData` beside the field does not count. Several
///   fields are several parts: `key = (order.tenant_id, order.order_id)`.
/// - An enum without data is written as the variant's name, as it is written in the code. Keys are kept for years: whoever
///   renames a variant keeps its old name with `#[key(rename = "..")]` above it. No two variants have one text.
/// - `#[key(crate = path)]`, above the type, is the path to the runtime.
#[proc_macro_derive(KeyPart, attributes(key))]
pub fn derive_key_part(input: TokenStream) -> TokenStream {
    key_part::derive(input.into()).into()
}

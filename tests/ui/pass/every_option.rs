//! Every option at once, among names that an expansion could take for its own.
#![deny(warnings, missing_docs, unreachable_pub)]

use idem_runtime::StateMachine;
use idem_runtime::machine::StateMachine as _;

mod core {}
mod std {}
mod sqlx {}
#[allow(dead_code)]
struct Result;
#[allow(dead_code)]
struct Option;
#[allow(dead_code)]
struct String;
#[allow(dead_code)]
struct Row;
#[allow(dead_code)]
struct ByState;
#[allow(dead_code)]
trait Display {}
#[allow(dead_code)]
trait FromStr {}
#[allow(dead_code)]
trait Type {}

/// The module that its types would have is taken.
mod order {}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(
    table = "shop.orders",
    id(order_id: i64),
    status = "state",
    version = "revision",
    history(name = "moves", cause = once),
    repr = native("shop.order_state"),
    rename_all = "snake_case",
    length = 32,
    sqlx,
    display,
    module = order_states,
    crate = idem_runtime
)]
#[transition(pay: Pending => Paid, set(paid_at = now))]
#[transition(ship: Paid => Shipped, set(note: ::std::string::String))]
enum Order {
    #[state(initial, alias = "new", alias = "open")]
    Pending,
    #[deprecated = "paid orders are shipped at once"]
    Paid,
    #[state(terminal, rename = "sent")]
    Shipped,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "lifts", id(LIFT_ID: i64), version = none, repr = int, rename_all = "lowercase", sqlx, display)]
#[transition(rise: Ground => Top)]
#[repr(i16)]
enum Lift {
    #[state(initial)]
    Ground = -1,
    #[state(terminal, alias = 3)]
    Top = 2,
}

fn main() {
    let sent: Order = "sent".parse().unwrap();
    assert_eq!((sent, sent.to_string(), sent.stored()), (Order::Shipped, "sent".to_owned(), "sent"));
    assert_eq!("open".parse::<Order>().unwrap(), Order::Pending);
    assert_eq!(Order::TABLE, "shop.orders");
    drop(Order::row(1).fire(order_states::Pay).cause("c").expect_version(3));

    assert_eq!((Lift::Top.stored(), Lift::Top.to_string()), ("2", "top".to_owned()));
    assert_eq!((Lift::from_stored("-1"), Lift::from_stored("3")), (Some(Lift::Ground), Some(Lift::Top)));
    assert_eq!(format!("{:>6}|", Lift::Top), "   top|");
    let unknown = "roof".parse::<Lift>().unwrap_err();
    assert_eq!(unknown.to_string(), "\"roof\" is not a state of `Lift`");
    drop(Lift::row(1).fire(lift::Rise));
}

//! S51, S54: a database that is not strict cuts off what is too long, and what is left is no state, or another one.
use idem_runtime::prelude::*;

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(order_id: i64), length = 12, rename_all = "snake_case")]
#[transition(pay: Waiting => PaidInAdvance)]
#[transition(close: PaidInAdvance => Closed)]
enum OrderStatus {
    #[state(initial, alias = "waiting_for_money")]
    Waiting,
    PaidInAdvance,
    #[state(terminal, rename = "十二个字符正好放得下啊啊")]
    Closed,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "bills", id(bill_id: i64))]
#[transition(send: Draft => Sent)]
enum Bill {
    #[state(initial)]
    Draft,
    #[state(terminal, rename = "sent to the customer by a courier who has to bring back a signature")]
    Sent,
}

#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "doors", id(door_id: i64), repr = native)]
#[transition(close: Open => Shut)]
enum Door {
    #[state(initial)]
    Open,
    #[state(terminal, rename = "一个标签在数据库里最多只能有六十三个字节，这个太长了")]
    Shut,
}

fn main() {}

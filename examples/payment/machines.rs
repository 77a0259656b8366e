//! The two machines: what can become of the money, and what can become of the order.

use idem_runtime::prelude::*;

/// The life of one trade at the payment channel.
///
/// Money can still come after the channel closed the trade as unpaid: a late success is a declared transition, not a
/// surprise. Money that the order does not take is set aside, to be given back.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "payments", id(trade_no: String), history, rename_all = "snake_case")]
#[transition(capture:   Waiting | Closed    => Captured, set(out_trade_no: String, amount: i64, captured_at = now))]
#[transition(give_back: Captured            => Captured, set(refunded: i64))]
#[transition(refuse:    Captured            => SetAside, set(reason: String))]
#[transition(refund:    Captured | SetAside => Refunded, set(refunded: i64))]
#[transition(close:     Waiting             => Closed)]
pub(crate) enum PaymentStatus {
    #[state(initial)]
    Waiting,
    Captured,
    SetAside,
    #[state(terminal)]
    Refunded,
    Closed,
}

/// The life of an order.
///
/// A cause moves one order only (`cause = once`): even a bug above cannot pay two orders with one trade.
#[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
#[machine(table = "orders", id(out_trade_no: String), history(cause = once), rename_all = "snake_case")]
#[transition(pay:    Pending        => Paid,    set(trade_no: String, paid_at = now))]
#[transition(ship:   Paid           => Shipped, set(shipped_at = now))]
#[transition(finish: Shipped        => Done)]
#[transition(cancel: Pending        => Cancelled)]
#[transition(refund: Paid | Shipped => Refunded)]
pub(crate) enum OrderStatus {
    #[state(initial)]
    Pending,
    Paid,
    Shipped,
    #[state(terminal)]
    Done,
    #[state(terminal)]
    Cancelled,
    #[state(terminal)]
    Refunded,
}

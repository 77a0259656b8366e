//! The expansion does not care what the scope around it calls things, and it passes the lints of a strict crate.

#![allow(dead_code, reason = "the machines are only compiled")]

#[path = "hygiene/functions.rs"]
mod functions;

/// S69: what a strict crate denies, private enums in private modules among it.
mod strict {
    #![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic)]

    use idem_runtime::StateMachine;

    /// With a history, several sources, several columns as identifier, and a name that repeats the module's.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "payments", id(tenant_id: i64, trade_no: String), history, rename_all = "snake_case")]
    #[create(tenant_id: i64, trade_no: String, amount: i64, rate: Option<f64>, opened_at = now)]
    #[unique_while(one_waiting: tenant_id, amount in Waiting | Late)]
    #[transition(payment_capture: Waiting | Late => Captured, set(paid_at: i64, settled_at: i64, booked_at: i64))]
    #[transition(expire: Waiting => Late)]
    pub(crate) enum Payment {
        #[state(initial)]
        Waiting,
        Late,
        #[state(terminal)]
        Captured,
    }

    /// Without a history; nothing of it is used.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "doors", id(door_id: i64), status = "state", version = "rev")]
    #[create(door_id: i64, house: i64)]
    #[unique_while(one_open: house in Open)]
    #[transition(unlock: Closed => Open)]
    #[transition(lock: Open => Closed)]
    enum Door {
        #[state(initial)]
        Closed,
        Open,
    }

    mod inner {
        use idem_runtime::StateMachine;

        /// Seen by the parent.
        #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
        #[machine(table = "lamps", id(lamp_id: i64), history(cause = once))]
        #[create(lamp_id: i64, label: super::Note, fresh_id)]
        #[transition(switch: Off => On, set(note: super::Note))]
        pub(super) enum Lamp {
            #[state(initial)]
            Off,
            #[state(terminal)]
            On,
        }
    }

    /// A type that `super` names in the attribute above.
    type Note = String;

    const _: () = assert!(Payment::allows(Payment::Late, Payment::Captured));
    const _: () = assert!(!Payment::allows(Payment::Captured, Payment::Late));
    const _: () = assert!(Door::allows(Door::Open, Door::Closed));

    fn every_event_is_in_reach() {
        let event = payment::PaymentCapture { paid_at: 1, settled_at: 1, booked_at: 1 };
        drop(Payment::row(7, "t".to_owned()).fire(event).cause("t"));
        drop(Door::row(1).fire(door::Unlock));
        let new = payment::New { tenant_id: 7, trade_no: "t".to_owned(), amount: 5, rate: None };
        drop(Payment::create(new).cause("r"));
        drop(inner::Lamp::create(inner::lamp::New { lamp_id: 1, label: "l".to_owned() }));
        drop(inner::Lamp::row(1).fire(inner::lamp::Switch { note: "n".to_owned() }));
    }
}

/// A public machine, as a library has it.
pub mod public {
    #![deny(warnings, missing_docs, clippy::pedantic)]

    use idem_runtime::StateMachine;

    /// Everything that the derive makes is as public as the enum.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "tickets", id(ticket_id: i64), history)]
    #[create(ticket_id: i64, kind: std::primitive::i64)]
    #[transition(close: Open => Closed, set(closed_at = now, reason: Option<String>, kind: std::primitive::i64))]
    pub enum Ticket {
        /// It is new.
        #[state(initial)]
        Open,
        /// It is done.
        #[state(terminal)]
        Closed,
    }
}

/// The expansion of sqlx's derive is not hygienic.
mod elsewhere {
    #[derive(Debug, Clone, serde::Serialize, sqlx::Type)]
    #[sqlx(transparent)]
    pub(super) struct String(pub(super) i64);
}

/// S59: names that an expansion could take for its own.
mod shadowed {
    use idem_runtime::machine::StateMachine;

    mod core {}
    mod std {}
    mod sqlx {}
    mod serde {}
    struct Result;
    struct Option;
    struct Vec;
    struct Box;
    struct Debug;
    struct Clone;
    struct State;
    struct Event;
    trait Send {}
    trait From {}
    trait Default {}

    use super::elsewhere::String;
    use Answer::{Err, None, Ok, Some};

    #[derive(
        ::idem_runtime::StateMachine,
        ::core::fmt::Debug,
        ::core::clone::Clone,
        ::core::marker::Copy,
        ::core::cmp::PartialEq,
        ::core::cmp::Eq,
    )]
    #[machine(table = "answers", id(id: i64), history)]
    #[create(id: i64, owner: i64, text: String)]
    #[unique_while(one_open: owner in None | Some)]
    #[transition(ask: None => Some, set(text: String))]
    #[transition(accept: Some => Ok)]
    #[transition(refuse: Some => Err)]
    enum Answer {
        #[state(initial)]
        None,
        Some,
        #[state(terminal)]
        Ok,
        #[state(terminal)]
        Err,
    }

    #[test]
    fn its_states_are_its_own() {
        assert_eq!(<Answer as StateMachine>::STATES, [None, Some, Ok, Err]);
        let fire = Answer::row(1).fire(answer::Ask { text: String(1) });
        drop(fire.cause("c"));
    }
}

/// Nothing at all in scope.
mod no_prelude {
    #![no_implicit_prelude]

    #[derive(
        ::idem_runtime::StateMachine,
        ::core::fmt::Debug,
        ::core::clone::Clone,
        ::core::marker::Copy,
        ::core::cmp::PartialEq,
        ::core::cmp::Eq,
    )]
    #[machine(table = "answers", id(id: i64), history)]
    #[transition(ask: Open => Asked, set(text: ::std::string::String))]
    enum Question {
        #[state(initial)]
        Open,
        #[state(terminal)]
        Asked,
    }
}

/// S48: keywords as names.
mod raw {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "types", id(r#type: i64), history)]
    #[transition(r#move: r#Start => r#final, set(r#where: String))]
    #[allow(non_camel_case_types, reason = "it is the keyword that is tested")]
    enum Type {
        #[state(initial)]
        r#Start,
        #[state(terminal)]
        r#final,
    }

    #[test]
    fn the_marks_of_raw_names_stay_out_of_what_is_stored() {
        assert_eq!(Type::r#final.stored(), "final");
        assert_eq!(Type::from_stored("final"), Some(Type::r#final));
        let (event, sql) = Type::EVENTS[0];
        assert_eq!(event, "move");
        assert!(sql.fire.sqlite.sql.contains("\"where\" = ?1"), "{}", sql.fire.sqlite.sql);
        drop(Type::row(1).fire(r#type::Move { r#where: "here".to_owned() }).cause("c"));
    }
}

/// A private enum that sqlx and serde know already adopts the machine as it is.
mod adopted {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, sqlx::Type, serde::Serialize, serde::Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
    #[sqlx(rename_all = "snake_case")]
    #[serde(rename_all = "snake_case")]
    #[machine(table = "orders", id(order_id: i64), rename_all = "snake_case")]
    #[transition(settle: WaitPay => AllPaid)]
    enum OrderStatus {
        #[state(initial)]
        WaitPay,
        #[state(terminal)]
        AllPaid,
    }

    #[test]
    fn all_of_them_store_the_same() {
        for state in OrderStatus::STATES {
            assert_eq!(serde_json::to_value(state).unwrap(), state.stored());
        }
    }
}

/// S71: two machines in one module, whose states and events have the same names.
mod two_machines {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "orders", id(order_id: i64))]
    #[transition(pay: Pending => Paid)]
    enum Order {
        #[state(initial)]
        Pending,
        #[state(terminal)]
        Paid,
    }

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "invoices", id(invoice_id: String))]
    #[transition(pay: Pending => Paid)]
    enum Invoice {
        #[state(initial)]
        Pending,
        #[state(terminal)]
        Paid,
    }

    #[test]
    fn each_has_its_own_types() {
        drop(Order::row(1).fire(order::Pay));
        drop(Invoice::row("i".to_owned()).fire(invoice::Pay));
    }

    /// S72: what comes first is the source, wherever a transition is told.
    #[test]
    fn source_and_target_are_not_swapped() {
        let edge = &Order::TRANSITIONS[0];
        assert_eq!((edge.source, edge.event, edge.target), (Order::Pending, "pay", Order::Paid));
        assert!(Order::allows(Order::Pending, Order::Paid) && !Order::allows(Order::Paid, Order::Pending));
        assert!(Order::MERMAID.contains("Pending --> Paid: pay"), "{}", Order::MERMAID);
        assert!(Order::DOT.contains(r#""Pending" -> "Paid" [label = "pay"]"#), "{}", Order::DOT);
        let sql = Order::EVENTS[0].1.fire.sqlite.sql;
        assert!(sql.contains("status = 'Paid'") && sql.contains("AND status = 'Pending'"), "{sql}");
    }
}

/// S67: attributes that warn, and those that stand between ours.
mod attributes {
    #![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic)]

    use idem_runtime::prelude::*;

    /// Rows are still in a state that new code must not name.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "orders", id(order_id: i64), history)]
    #[transition(pay: Pending | Unpaid => Paid)]
    #[transition(remind: Pending => Unpaid)]
    enum Order {
        #[state(initial)]
        Pending,
        #[deprecated = "it is `Pending`"]
        Unpaid,
        #[state(terminal)]
        Paid,
    }

    /// More states will come.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "invoices", id(invoice_id: i64))]
    #[transition(send: Draft => Sent)]
    #[non_exhaustive]
    pub(crate) enum Invoice {
        #[state(initial)]
        Draft,
        #[state(terminal)]
        Sent,
    }

    /// The states are written as they are stored.
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64))]
    #[transition(Ship: packed => on_its_way, set(carrierName: String))]
    #[allow(non_camel_case_types, reason = "the names are the database's")]
    enum Parcel {
        #[state(initial)]
        packed,
        #[state(terminal)]
        on_its_way,
    }

    #[doc(hidden)]
    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    /// Documentation may stand anywhere,
    #[machine(table = "seats")]
    #[allow(clippy::upper_case_acronyms, reason = "an attribute between ours")]
    #[machine(id(seat_id: i64))]
    /** as a block as well, */
    #[must_use]
    #[transition(book: Free => Booked)]
    #[repr(u8)]
    enum Seat {
        /// and above a variant
        #[doc(hidden)]
        #[state(initial)]
        /// on both sides of its mark.
        Free,
        #[state(terminal)]
        #[doc(alias = "taken")]
        Booked,
    }

    #[test]
    fn every_machine_is_whole() {
        #[expect(deprecated)]
        let unpaid = Order::Unpaid;
        assert!(Order::allows(unpaid, Order::Paid));
        drop(Order::row(1).fire(order::Pay).cause("c"));
        drop(Invoice::row(1).fire(invoice::Send));
        drop(Parcel::row(1).fire(parcel::Ship { carrierName: "post".to_owned() }));
        assert_eq!(Parcel::on_its_way.stored(), "on_its_way");
        drop(Seat::row(1).fire(seat::Book));
    }
}

/// S69: visible as far as a path says.
mod seen {
    mod from {
        pub(super) mod here {
            use idem_runtime::prelude::*;

            #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
            #[machine(table = "orders", id(order_id: i64))]
            #[transition(pay: Pending => Paid, set(trade_no: String))]
            pub(in crate::seen) enum Order {
                #[state(initial)]
                Pending,
                #[state(terminal)]
                Paid,
            }

            #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
            #[machine(table = "invoices", id(invoice_id: i64))]
            #[transition(pay: Pending => Paid, set(trade_no: String))]
            pub(in super::super) enum Invoice {
                #[state(initial)]
                Pending,
                #[state(terminal)]
                Paid,
            }
        }
    }

    #[test]
    fn events_are_seen_as_far_as_their_machine() {
        use from::here::{Invoice, Order, invoice, order};
        drop(Order::row(1).fire(order::Pay { trade_no: "t".to_owned() }));
        drop(Invoice::row(1).fire(invoice::Pay { trade_no: "t".to_owned() }));
    }
}

/// S66: what a configuration removes is not there, and what it adds is.
mod configured {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(true, machine(table = "orders", id(order_id: i64)))]
    #[cfg_attr(false, machine(table = "removed", id(order_id: i64)))]
    #[cfg_attr(true, transition(pay: Pending => Paid))]
    #[cfg_attr(false, transition(rush: Pending => Rushed))]
    enum Order {
        #[cfg_attr(true, state(initial))]
        Pending,
        #[cfg(true)]
        #[cfg_attr(true, state(terminal))]
        Paid,
        #[cfg(false)]
        #[state(initial)]
        Rushed,
    }

    #[test]
    fn a_removed_variant_is_no_state() {
        assert_eq!(Order::TABLE, "orders");
        assert_eq!(Order::STATES, [Order::Pending, Order::Paid]);
        assert_eq!(Order::EVENTS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["pay"]);
        assert_eq!(Order::from_stored("Rushed"), None);
    }
}

/// A machine whose parts come from a macro.
mod from_a_macro {
    macro_rules! machine {
        ($name:ident, $table:literal, $ty:ty, $event:ident: $source:ident => $target:ident) => {
            #[derive(idem_runtime::StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
            #[machine(table = $table, id(id: $ty), history)]
            #[transition($event: $source => $target, set(by: $ty))]
            enum $name {
                #[state(initial)]
                $source,
                #[state(terminal)]
                $target,
            }
        };
    }

    machine!(Desk, "desks", i64, book: Free => Booked);

    #[test]
    fn its_parts_are_those_of_the_call() {
        drop(Desk::row(1).fire(desk::Book { by: 2 }).cause("c"));
        assert!(Desk::allows(Desk::Free, Desk::Booked));
    }
}

/// A dependency under another name.
mod renamed {
    use idem_runtime as other_name;
    use other_name::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "orders", id(order_id: i64), history, crate = other_name)]
    #[transition(pay: Pending => Paid)]
    enum Order {
        #[state(initial)]
        Pending,
        #[state(terminal)]
        Paid,
    }

    #[test]
    fn it_is_found() {
        drop(Order::row(1).fire(order::Pay).cause("c"));
    }
}

/// Where `super` is not the scope of the enum, as in an example of the documentation.
#[test]
fn a_machine_in_a_function() {
    use idem_runtime::prelude::*;

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "orders", id(order_id: i64))]
    #[transition(pay: Pending => Paid, set(trade_no: String))]
    enum Order {
        #[state(initial)]
        Pending,
        #[state(terminal)]
        Paid,
    }

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "invoices", id(invoice_id: i64))]
    #[transition(pay: Pending => Paid)]
    enum Invoice {
        #[state(initial)]
        Pending,
        #[state(terminal)]
        Paid,
    }

    drop(Order::row(1).fire(order::Pay { trade_no: "t".to_owned() }));
    drop(Invoice::row(1).fire(invoice::Pay));
    assert!(Order::allows(Order::Pending, Order::Paid) && Invoice::allows(Invoice::Pending, Invoice::Paid));
}

/// A field whose type has the name of the event that carries it.
mod hidden_type {
    use idem_runtime::prelude::*;

    #[derive(Debug, Clone, sqlx::Type)]
    #[sqlx(transparent)]
    struct Label(String);

    #[derive(StateMachine, Debug, Clone, Copy, PartialEq, Eq)]
    #[machine(table = "parcels", id(parcel_id: i64))]
    #[transition(label: New => Labelled, set(label: Label, copy: Option<Label>))]
    enum Parcel {
        #[state(initial)]
        New,
        #[state(terminal)]
        Labelled,
    }

    #[test]
    fn it_is_the_users() {
        let label = Label("fragile".to_owned());
        let event = parcel::Label { copy: Some(label.clone()), label };
        drop(Parcel::row(1).fire(event));
    }
}

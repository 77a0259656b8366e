//! The rules of a machine, one function a rule. All of them run, so that all errors come in one build.

mod columns;
mod create;
mod events;
mod graph;
mod states;
mod values;

use super::ast::Machine;
use super::case;
use super::model::Model;
use crate::ctxt::Ctxt;

/// Reports every broken rule, and resolves what can be resolved.
pub(super) fn resolve(cx: &Ctxt, machine: &Machine<'_>) -> Model {
    check_generics(cx, machine);
    columns::check(cx, machine);
    values::check(cx, machine);
    create::check(cx, machine);
    // `&`, not `&&`: each of them reports.
    let whole = states::check(cx, machine) & events::check(cx, machine);
    let model = Model::from_ast(machine);
    check_module_name(cx, &model);
    // A name that is not resolved would make the state that was meant look unreachable.
    if whole {
        graph::check(cx, machine, &model);
    }
    model
}

/// A state is a value in a column, which has no type parameter.
fn check_generics(cx: &Ctxt, machine: &Machine<'_>) {
    let generics = &machine.original.generics;
    if !generics.params.is_empty() {
        cx.error(generics, "a state machine has no generic parameters\nhelp: remove them: a state is a plain value");
    }
}

/// The module stands beside the enum, and Rust tells both by their names alone.
fn check_module_name(cx: &Ctxt, model: &Model) {
    let module = &model.module;
    if *module == model.ident {
        let help = format!("name the module: `#[machine(module = {}_states)]`", case::snake(&model.name()));
        cx.error(module, format_args!("the enum and its module are both named `{module}`\nhelp: {help}"));
    }
}

//! Statements as constants of the runtime's types.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::model::{History, Model};
use super::option;
use super::text::literal;
use crate::sql::{
    self, Bind, BulkSql, CreateSql, EventSql, GuardSql, PerDialect, RepairSql, Statement, UniqueWhileSql,
};

/// A `MachineSql`.
pub(super) fn machine(model: &Model) -> TokenStream {
    let load = per_dialect(&sql::load(model), statement);
    let [lock, lock_now] = sql::lock(model).map(|it| per_dialect(&it, statement));
    let history = sql::history(model).map(|history| per_dialect(&history, |sql| literal(sql)));
    let history = option(history.as_ref());
    let once = model.history.as_ref().is_some_and(|history| history.once);
    let versions = model.version.is_some();
    let columns = sql::columns(model);
    let bulk = bulk(&sql::bulk(model));
    let definitions = per_dialect(&columns.definitions, |sql| literal(sql));
    let unknown_values = per_dialect(&columns.unknown_values, |sql| literal(sql));
    let optional = |it: &Option<String>| option(it.as_ref().map(|sql| literal(sql)).as_ref());
    let (status_type, widen) = (per_dialect(&columns.status_type, optional), per_dialect(&columns.widen, optional));
    let create = option(model.create.as_ref().map(|_| quote!(__CREATE)).as_ref());
    let unique_while = option(sql::unique_while(model).map(|rules| unique_while(&rules)).as_ref());
    let guard = per_dialect(&sql::guard(model), guard);
    let repair = option(sql::repair(model).map(|all| per_dialect(&all, repair)).as_ref());
    quote! {
        _idem::__private::MachineSql {
            load: #load,
            lock: #lock,
            lock_now: #lock_now,
            history: #history,
            once: #once,
            versions: #versions,
            status_type: #status_type,
            columns: #definitions,
            widen: #widen,
            unknown_values: #unknown_values,
            create: #create,
            unique_while: #unique_while,
            bulk: #bulk,
            guard: #guard,
            repair: #repair,
        }
    }
}

/// A `GuardSql`.
fn guard(sql: &GuardSql) -> TokenStream {
    let GuardSql { name, install, remove, find } = sql;
    quote!(_idem::__private::GuardSql { name: #name, install: #install, remove: #remove, find: #find })
}

/// A `RepairSql`.
fn repair(sql: &RepairSql) -> TokenStream {
    let RepairSql { lock, read, open, enter, write, close } = sql;
    let lock = option(lock.as_ref().map(statement).as_ref());
    let [read, enter, write] = [read, enter, write].map(statement);
    quote! {
        _idem::__private::RepairSql {
            lock: #lock,
            read: #read,
            open: #open,
            enter: #enter,
            write: #write,
            close: #close,
        }
    }
}

/// An `EventSql`, made by the runtime, which knows the parameters: they are the same for every event.
pub(super) fn event(model: &Model, sql: &EventSql) -> TokenStream {
    let (row, entry) = ([&sql.fire, &sql.fire_at, &sql.explain, &sql.fire_all], [&sql.enter, &sql.enter_at]);
    let postgres = row.map(|it| literal(&it.postgres.sql));
    let mysql = row
        .map(|it| &it.mysql)
        .into_iter()
        .chain(entry.into_iter().filter_map(|it| it.mysql.as_ref()))
        .map(|it| literal(&it.sql));
    let sqlite = row
        .map(|it| &it.sqlite)
        .into_iter()
        .chain(entry.into_iter().filter_map(|it| it.sqlite.as_ref()))
        .map(|it| literal(&it.sql));
    let texts = quote!([#(#postgres),*], [#(#mysql),*], [#(#sqlite),*]);
    let usual = match &model.history {
        None => quote!(_idem::__private::EventSql::without_history(#texts)),
        Some(History { once, .. }) => quote!(_idem::__private::EventSql::with_history(#once, #texts)),
    };
    let Some(blocked) = &sql.blocked else { return usual };
    let blocked = per_dialect(blocked, statement);
    quote!(_idem::__private::EventSql { blocked: ::core::option::Option::Some(#blocked), ..#usual })
}

/// A `CreateSql`.
pub(super) fn create(sql: &CreateSql) -> TokenStream {
    let enter = per_dialect(&sql.enter, |it| option(it.as_ref().map(statement).as_ref()));
    let insert = per_dialect(&sql.insert, statement);
    let caused = option(sql.caused.as_ref().map(|it| per_dialect(it, statement)).as_ref());
    let met = sql.met.iter().map(|it| per_dialect(it, statement));
    quote! {
        _idem::__private::CreateSql {
            enter: #enter,
            insert: #insert,
            caused: #caused,
            met: &[#(#met),*],
        }
    }
}

/// A `BulkSql`, made by the runtime, which knows the parameters.
fn bulk(sql: &PerDialect<Option<BulkSql>>) -> TokenStream {
    let texts = |sql: &BulkSql| {
        let read = literal(&sql.read.sql);
        let history = sql.history.as_ref().map(|[caused, enter]| (literal(&caused.sql), literal(&enter.sql)));
        let history = option(history.map(|(caused, enter)| quote!([#caused, #enter])).as_ref());
        quote!((#read, #history))
    };
    let [mysql, sqlite] = [&sql.mysql, &sql.sqlite].map(|it| option(it.as_ref().map(texts).as_ref()));
    quote!(_idem::__private::BulkSql::new(#mysql, #sqlite))
}

/// A `UniqueWhileSql`.
fn unique_while(rules: &UniqueWhileSql) -> TokenStream {
    let (names, ddl) = (&rules.names, per_dialect(&rules.ddl, |sql| literal(sql)));
    quote!(_idem::__private::UniqueWhileSql { names: &[#(#names),*], ddl: #ddl })
}

fn per_dialect<T>(all: &PerDialect<T>, tokens: impl Fn(&T) -> TokenStream) -> TokenStream {
    let (postgres, mysql, sqlite) = (tokens(&all.postgres), tokens(&all.mysql), tokens(&all.sqlite));
    quote!(_idem::__private::PerDialect { postgres: #postgres, mysql: #mysql, sqlite: #sqlite })
}

fn statement(statement: &Statement) -> TokenStream {
    let sql = literal(&statement.sql);
    let binds = statement.binds.iter().map(|bind| match bind {
        Bind::Fields => quote!(_idem::__private::Bind::Fields),
        Bind::Id => quote!(_idem::__private::Bind::Id),
        Bind::Version => quote!(_idem::__private::Bind::Version),
        Bind::Cause => quote!(_idem::__private::Bind::Cause),
        Bind::Fingerprint => quote!(_idem::__private::Bind::Fingerprint),
        Bind::Note => quote!(_idem::__private::Bind::Note),
        Bind::Value(at) => quote!(_idem::__private::Bind::Value(#at)),
        Bind::Wait => quote!(_idem::__private::Bind::Wait),
        Bind::Ids => quote!(_idem::__private::Bind::Ids),
        Bind::EventName => quote!(_idem::__private::Bind::EventName),
        Bind::Target => quote!(_idem::__private::Bind::Target),
    });
    quote!(_idem::__private::Statement { sql: #sql, binds: &[#(#binds),*] })
}

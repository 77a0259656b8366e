//! Functions under a lease.

use expect_test::expect;
use quote::quote;

use super::{attribute, check};

#[test]
fn a_record_in_doubt_is_held() {
    check(
        quote!(
            scope = "transfer.send",
            key = transfer_id,
            payload = amount,
            lease = "1m 30s",
            record_err = SendError::is_final
        ),
        quote! {
            async fn send(attempt: &mut Attempt<'_, Sqlite>, transfer_id: i64, mut amount: i64) -> Result<Receipt, SendError> {
                pay(attempt, &mut amount).await
            }
        },
        &expect![[r#"
            ///
            ///# Idempotent
            ///
            ///One effect for each `transfer_id` in the scope `transfer.send`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<Sqlite>`.
            ///
            ///```text
            ///async fn send(attempt: &mut Attempt<'_, Sqlite>, transfer_id: i64, mut amount: i64) -> Result<Receipt, SendError>
            ///async fn send(attempt: &Idem<Sqlite>, transfer_id: i64, mut amount: i64) -> Result<Receipt, SendError>
            ///```
            ///
            ///An error that `SendError::is_final` says yes to is stored and replayed too, and what its call has committed stays.
            ///A call holds its key by a lease of `1m 30s`, which is renewed while the body runs.
            ///A call that ends without a result after it has begun or committed something is in doubt:
            ///every later one is `Indeterminate` until somebody has looked.
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            async fn send(
                attempt: &::idem_runtime::Idem<Sqlite>,
                transfer_id: i64,
                mut amount: i64,
            ) -> Result<Receipt, SendError> {
                use ::idem_runtime::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("transfer.send").lease_ms(90_000);
                let __codec = __idem::codec::<
                    Result<Receipt, SendError>,
                    __idem::OkOf<Result<Receipt, SendError>>,
                    __idem::ErrOf<Result<Receipt, SendError>>,
                >();
                let __codec = __idem::record_err::<
                    Result<Receipt, SendError>,
                    _,
                    __idem::ErrOf<Result<Receipt, SendError>>,
                >(__codec, SendError::is_final);
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &transfer_id);
                let __payload = __idem::Fingerprint::new();
                let __payload = __idem::payload_part(__payload, &amount);
                let mut __leased = match __idem::lease(attempt, &__SPEC, __key, __payload, &__codec)
                    .await
                {
                    __idem::Opened::Run(__leased) => __leased,
                    __idem::Opened::Done(__result) => return __result,
                };
                let __inside = __leased.inside();
                let __out = {
                    let __attempt = __leased.attempt();
                    __inside
                        .run(async move {
                            if false {
                                return __idem::never::<Result<Receipt, SendError>>();
                            }
                            let attempt: &mut Attempt<'_, Sqlite> = ::core::convert::identity(
                                __attempt,
                            );
                            '__body: { pay(attempt, &mut amount).await }
                        })
                        .await
                };
                __leased.finish(__out, &__codec).await
            }
        "#]],
    );
}

#[test]
fn to_hold_is_what_happens_without_the_option() {
    let item = quote!(
        async fn send(attempt: &mut Attempt<'_, Sqlite>, id: i64) -> Result<i64, Error> {
            Ok(id)
        }
    );
    let expanded = |option| attribute(quote!(scope = "transfer.send", key = id, #option), item.clone()).to_string();
    assert_eq!(expanded(quote!(on_expired = hold)), expanded(quote!()));
}

#[test]
fn a_record_in_doubt_is_taken_over() {
    check(
        quote!(
            scope = "transfer.send",
            key = transfer_id,
            on_expired = takeover,
            downstream = idempotent,
            crate = crate::rt
        ),
        quote! {
            async fn send<DB: SqlDialect>(_: &mut rt::Attempt<'_, DB>, transfer_id: i64) -> Result<Receipt, SendError> {
                pay().await
            }
        },
        &expect![[r#"
            ///
            ///# Idempotent
            ///
            ///One effect for each `transfer_id` in the scope `transfer.send`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<DB>`.
            ///
            ///```text
            ///async fn send<DB: SqlDialect>(_: &mut rt::Attempt<'_, DB>, transfer_id: i64) -> Result<Receipt, SendError>
            ///async fn send<DB: SqlDialect>(begin: &Idem<DB>, transfer_id: i64) -> Result<Receipt, SendError>
            ///```
            ///
            ///A call holds its key by a lease of `30s`, which is renewed while the body runs.
            ///A call that ends without a result after it has begun or committed something is in doubt:
            ///the next one runs the body again, and the provider honours the downstream key.
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            async fn send<DB: SqlDialect>(
                begin: &crate::rt::Idem<DB>,
                transfer_id: i64,
            ) -> Result<Receipt, SendError> {
                use crate::rt::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("transfer.send").takes_over();
                let __codec = __idem::codec::<
                    Result<Receipt, SendError>,
                    __idem::OkOf<Result<Receipt, SendError>>,
                    __idem::ErrOf<Result<Receipt, SendError>>,
                >();
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &transfer_id);
                let __payload = __idem::Fingerprint::new();
                let mut __leased = match __idem::lease(begin, &__SPEC, __key, __payload, &__codec)
                    .await
                {
                    __idem::Opened::Run(__leased) => __leased,
                    __idem::Opened::Done(__result) => return __result,
                };
                let __inside = __leased.inside();
                let __out = {
                    let __attempt = __leased.attempt();
                    __inside
                        .run(async move {
                            if false {
                                return __idem::never::<Result<Receipt, SendError>>();
                            }
                            let _: &mut rt::Attempt<'_, DB> = ::core::convert::identity(__attempt);
                            '__body: { pay().await }
                        })
                        .await
                };
                __leased.finish(__out, &__codec).await
            }
        "#]],
    );
}

#[test]
fn a_record_in_doubt_is_probed() {
    check(
        quote!(scope = "transfer.send", key = (self.id, name), on_expired = probe(Self::ask::<DB>)),
        quote! {
            async fn send<DB: SqlDialect, N: KeyPart + Clone>(
                &self,
                attempt: &mut Attempt<'_, DB>,
                mut name: N,
                amount: i64,
            ) -> Result<Once<Receipt>, SendError> {
                self.pay(attempt, &mut name).await
            }
        },
        &expect![[r#"
            ///
            ///# Idempotent
            ///
            ///One effect for each `(self.id, name)` in the scope `transfer.send`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<DB>`.
            ///
            ///```text
            ///async fn send<DB: SqlDialect, N: KeyPart + Clone>(&self, attempt: &mut Attempt<'_, DB>, mut name: N, amount: i64) -> Result<Once<Receipt>, SendError>
            ///async fn send<DB: SqlDialect, N: KeyPart + Clone>(&self, attempt: &Idem<DB>, mut name: N, amount: i64) -> Result<Once<Receipt>, SendError>
            ///```
            ///
            ///A call holds its key by a lease of `30s`, which is renewed while the body runs.
            ///A call that ends without a result after it has begun or committed something is in doubt:
            ///the next one asks `Self::ask::<DB>` what has come of it.
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            async fn send<DB: SqlDialect, N: KeyPart + Clone>(
                &self,
                attempt: &::idem_runtime::Idem<DB>,
                mut name: N,
                amount: i64,
            ) -> Result<Once<Receipt>, SendError> {
                use ::idem_runtime::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("transfer.send").probes();
                let __codec = __idem::codec::<
                    Result<Once<Receipt>, SendError>,
                    __idem::OkOf<Result<Once<Receipt>, SendError>>,
                    __idem::ErrOf<Result<Once<Receipt>, SendError>>,
                >();
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &self.id);
                let __key = __idem::key_part(__key, &name);
                let __payload = __idem::Fingerprint::new();
                let mut __leased = match __idem::lease(attempt, &__SPEC, __key, __payload, &__codec)
                    .await
                {
                    __idem::Opened::Run(__leased) => __leased,
                    __idem::Opened::Done(__result) => return __result,
                };
                if __leased.is_in_doubt() {
                    let __inside = __leased.inside();
                    let __found: ::core::result::Result<
                        ::idem_runtime::Probe<_>,
                        __idem::ErrOf<Result<Once<Receipt>, SendError>>,
                    > = {
                        let __attempt = __leased.attempt();
                        let name = ::core::clone::Clone::clone(&name);
                        let amount = ::core::clone::Clone::clone(&amount);
                        __inside
                            .run(async move { Self::ask::<DB>(self, __attempt, name, amount).await })
                            .await
                    };
                    __leased = match __leased.settle(__found, &__codec).await {
                        __idem::Opened::Run(__leased) => __leased,
                        __idem::Opened::Done(__result) => return __result,
                    };
                }
                let __inside = __leased.inside();
                let __out = {
                    let __attempt = __leased.attempt();
                    __inside
                        .run(async move {
                            if false {
                                return __idem::never::<Result<Once<Receipt>, SendError>>();
                            }
                            let attempt: &mut Attempt<'_, DB> = ::core::convert::identity(__attempt);
                            '__body: { self.pay(attempt, &mut name).await }
                        })
                        .await
                };
                __leased.finish(__out, &__codec).await
            }
        "#]],
    );
}

#[test]
fn after_an_error_a_function_under_a_lease_keeps_the_signature_that_its_callers_use() {
    check(
        quote!(scope = "transfer.send", key = transfer_id, rerun = 3, on_expired = probe(ask)),
        quote! {
            async fn send(attempt: &mut Attempt<'_, Sqlite>, transfer_id: i64) -> Result<Receipt, SendError> {
                pay(attempt).await
            }
        },
        &expect![[r#"
            ::core::compile_error! {
                "`rerun` is not for `send`, which runs under a lease\nhelp: remove it: it would run an outside call again"
            }
            async fn send(
                attempt: &::idem_runtime::Idem<Sqlite>,
                transfer_id: i64,
            ) -> Result<Receipt, SendError> {
                let _ = attempt;
                let attempt: &mut Attempt<'_, Sqlite> = ::idem_runtime::__private::never();
                let _ = &transfer_id;
                '__body: { pay(attempt).await }
            }
        "#]],
    );
}

use super::{Key, KeyPart};

/// A whole key, where no macro writes it: one [`KeyPart`], or a tuple of up to eight. The same text as that of an
/// `#[idempotent]` function whose `key` has these parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an idempotency key",
    label = "expected a `KeyPart`, or a tuple of them",
    note = "a key must be the same on every retry; use the request's or the order's identifier",
    note = "integers, strings, `bool`, `Uuid`, `Option` of these and types with `#[derive(KeyPart)]` are parts"
)]
pub trait KeyParts {
    #[doc(hidden)]
    fn key(&self) -> Key;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart + ?Sized> KeyParts for T {
    fn key(&self) -> Key {
        Key::new().part(self)
    }
}

macro_rules! key_parts_of_tuple {
    ($($T:ident)+) => {
        #[diagnostic::do_not_recommend]
        impl<$($T: KeyPart),+> KeyParts for ($($T,)+) {
            fn key(&self) -> Key {
                #[expect(non_snake_case, reason = "a part is named as its type")]
                let ($($T,)+) = self;
                Key::new()$(.part($T))+
            }
        }
    };
}
key_parts_of_tuple!(A);
key_parts_of_tuple!(A B);
key_parts_of_tuple!(A B C);
key_parts_of_tuple!(A B C D);
key_parts_of_tuple!(A B C D E);
key_parts_of_tuple!(A B C D E F);
key_parts_of_tuple!(A B C D E F G);
key_parts_of_tuple!(A B C D E F G H);

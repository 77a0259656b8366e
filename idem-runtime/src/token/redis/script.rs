//! What Redis does with a token, at once and by its own clock.
//!
//! A token is a hash. `subject` and `ends` (in milliseconds) are there from its issue; `owner`, `request` and `held` (the end of
//! the reservation) while it is reserved and after it was used; `used` once that was confirmed. The key outlives `ends`: what has
//! expired can still be told from what never was.

use std::sync::OnceLock;

pub(super) struct Script {
    pub(super) text: &'static str,
    hash: OnceLock<String>,
}

impl Script {
    const fn new(text: &'static str) -> Self {
        Self { text, hash: OnceLock::new() }
    }

    pub(super) fn hash(&self) -> &str {
        self.hash.get_or_init(|| redis::Script::new(self.text).get_hash().to_owned())
    }
}

/// Subject, life, keep.
pub(super) static ISSUE: Script = Script::new(
    "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('HSET', KEYS[1], 'subject', ARGV[1], 'ends', now + ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
end
return 'issued'",
);

/// Subject, owner, request (or nothing), hold, keep.
///
/// The same request is let through whenever it comes. It becomes the owner, so that no earlier try of it that ends now gives
/// back what this one works with.
pub(super) static RESERVE: Script = Script::new(
    "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local subject, ends, owner, request, held, used =
  unpack(redis.call('HMGET', KEYS[1], 'subject', 'ends', 'owner', 'request', 'held', 'used'))
if not subject then return 'unknown' end
if subject ~= ARGV[1] then return 'wrong subject' end
local is_ours = owner == ARGV[2]
local is_same = is_ours or (owner and ARGV[3] ~= '' and request == ARGV[3])
if used then return is_same and 'again' or 'used' end
if not is_same then
  if owner and tonumber(held) > now then return 'held ' .. (held - now) end
  if tonumber(ends) <= now then return 'expired' end
end
redis.call('HSET', KEYS[1], 'owner', ARGV[2], 'request', ARGV[3], 'held', now + ARGV[4])
redis.call('PEXPIRE', KEYS[1], math.max(ends - now, ARGV[4]) + ARGV[5])
return (is_same and not is_ours) and 'again' or 'reserved'",
);

/// Owner, request (or nothing), keep.
///
/// Its effect is there, so that it is used unless another one has it by now.
pub(super) static CONFIRM: Script = Script::new(
    "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends, owner, request, used = unpack(redis.call('HMGET', KEYS[1], 'ends', 'owner', 'request', 'used'))
local is_same = owner == ARGV[1] or (ARGV[2] ~= '' and request == ARGV[2])
if not ends or (owner and not is_same) then return 'lost' end
if not used then
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'request', ARGV[2], 'used', 1)
  redis.call('PEXPIRE', KEYS[1], math.max(ends - now, 0) + ARGV[3])
end
return 'used'",
);

/// Owner. What was used stays so.
pub(super) static RELEASE: Script = Script::new(
    "\
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'owner', 'request', 'held')
end
return 'released'",
);

"""The two scripts that Redis runs whole, with nothing of another client's in between."""

from __future__ import annotations

COMMIT = """#!lua
-- KEYS: the count of turns, the order of what was paid.
-- ARGV: the turn that was read ('' for none); how many rows were read, and for each its hash, its
-- field and the sha1 of its text ('' where there was none); then for each row to write its hash,
-- its field, its name, its effect and its text.
if ARGV[1] ~= '' and (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then
  return 0
end
local at = 3
for _ = 1, tonumber(ARGV[2]) do
  local text = redis.call('HGET', ARGV[at], ARGV[at + 1])
  if (text and redis.sha1hex(text) or '') ~= ARGV[at + 2] then
    return 0
  end
  at = at + 3
end
while at <= #ARGV do
  local hash, field, name, effect, text = unpack(ARGV, at, at + 4)
  at = at + 5
  if effect == 'delete' then
    if redis.call('HDEL', hash, field) == 1 then
      redis.call('ZREM', KEYS[2], name)
      redis.call('INCR', KEYS[1])
    end
  elseif effect == 'paid' then
    -- The same text again is a commit whose answer got lost: it must not count twice.
    if redis.call('HGET', hash, field) ~= text then
      redis.call('HSET', hash, field, text)
      redis.call('ZADD', KEYS[2], redis.call('INCR', KEYS[1]), name)
    end
  else
    redis.call('HSET', hash, field, text)
    if effect == 'hold' then
      redis.call('INCR', KEYS[1])
    elseif effect == 'free' then
      redis.call('ZREM', KEYS[2], name)
    end
  end
end
return 1
"""

PAID = """#!lua flags=no-writes
-- KEYS: the order of what was paid, what the names of the hashes begin with.
-- ARGV: the position to go on from, how many rows at most. Returns name, position, text of each.
local found = redis.call('ZRANGE', KEYS[1], '(' .. ARGV[1], '+inf', 'BYSCORE',
                         'LIMIT', 0, ARGV[2], 'WITHSCORES')
local rows = {}
for at = 1, #found, 2 do
  local kind, field = string.match(found[at], '^(%l+)/(.*)$')
  rows[#rows + 1] = found[at]
  rows[#rows + 1] = found[at + 1]
  rows[#rows + 1] = redis.call('HGET', KEYS[2] .. kind, field) or '{}'
end
return rows
"""

// The embedded corpus: English sentences with number agreement (also across relative clauses), tenses,
// questions, subordinate clauses, possessives and quantity, over some two hundred word forms.
#include "data/grammar.hpp"

namespace plimsoll {

std::string_view english_rules() {
  return R"rules(
sentence: 44 <clause><end>
  | 9 <question>?/
  | 7 <clause>,_<and>_<short><end>
  | 5 <clause>;_<short><end>
  | 5 <opening>,_<clause><end>
  | 5 <when>_<short>,_<short><end>
  | 3 <short>_<when>_<short><end>
  | 2 <name>,_<command>!/
end: 9 ./ | 1 !/

and: 4 and | 3 but | 1 so
when: 4 when | 2 if | 2 because | 1 while
opening: 3 now | 2 today | 2 sometimes | 1 at_last

# A full clause, and one without relative clauses or places for where two clauses meet.
clause: 6 <full.s>_<verb.s><place?> | 4 <full.p>_<verb.p><place?>
short: 6 <one>_<verb.s> | 4 <many>_<verb.p>

# Subjects: the verb agrees with the head, whatever stands between.
full.s: 6 <one> | 1 <one>_<near>_<thing> | 2 <one>_that_<rel.s>
full.p: 6 <many> | 1 <many>_<near>_<thing> | 2 <many>_that_<rel.p>
rel.s: 2 <active>s_<object> | 1 <stem>s | 1 <many>_<active>
rel.p: 2 <active>_<object> | 1 <stem> | 1 <one>_<active>s

one: 8 the_<adj?><noun> | 4 a_<adj?><noun> | 2 every_<noun> | 2 my_<adj?><noun> | 4 <name> | 1 <name>'s_<noun> | 1 an_old_<noun>
many: 8 the_<adj?><noun>s | 3 <number>_<adj?><noun>s | 3 <adj>_<noun>s | 1 my_<noun>s | 1 <name>'s_<noun>s
object: 5 the_<adj?><noun> | 3 a_<adj?><noun> | 3 the_<noun>s | 2 <number>_<noun>s | 2 <name>
adj?: 3 | 2 <adj>_

verb.s: 5 <stem>s<how?> | 7 <active>s_<object> | 2 is_<state> | 2 is_<stem>ing | 2 doesn't_<stem> | 1 doesn't_<active>_<object> | 5 <common>
verb.p: 5 <stem><how?> | 7 <active>_<object> | 2 are_<state> | 2 are_<stem>ing | 2 don't_<stem> | 1 don't_<active>_<object> | 5 <common>
common: 3 <stem>ed<how?> | 4 <active>ed_<object> | 2 will_<stem> | 2 will_<active>_<object> | 1 can_<stem>
how?: 3 | 2 _<how>
place?: 4 | 1 _<near>_<thing>

question: 3 does_<one>_<act> | 2 do_<many>_<act> | 2 will_<one>_<act> | 1 where_is_<one> | 1 where_are_<many> | 1 who_<active>s_<object>
act: 2 <stem> | 3 <active>_<object>
command: 2 <active>_<object> | 1 <stem> | 1 don't_<stem>

near: 4 in | 3 near | 2 under | 2 behind
thing: 3 the_<spot> | 1 a_<spot>
spot: 8 house | 6 garden | 5 river | 4 tree | 3 bridge | 3 table | 2 window | 2 castle
number: 4 two | 3 three | 2 some | 1 ten
name: 6 anna | 5 tom | 4 julia | 3 felix | 2 max | 2 zoe

noun: 20 dog | 16 cat | 14 girl | 12 boy | 11 king | 10 bird | 9 queen | 8 teacher | 7 farmer | 7 doctor | 6 sailor | 6 friend
  | 5 horse | 5 river-boat | 4 painter | 4 robot | 3 zebra | 3 wizard | 3 neighbor | 2 driver | 2 giant | 2 lion
adj: 9 little | 8 young | 7 happy | 6 big | 5 red | 5 quiet | 4 lazy | 4 brave | 3 kind | 3 well-known | 2 tired | 2 green
stem: 9 walk | 7 wait | 6 work | 6 play | 5 talk | 5 jump | 4 laugh | 4 sail | 3 listen | 3 rest | 2 shout | 2 wander
active: 10 follow | 9 help | 8 visit | 7 want | 6 call | 5 remember | 5 paint | 4 need | 3 answer | 3 fear | 2 trust | 2 greet
state: 5 <adj> | 3 here | 2 at_home
how: 5 slowly | 4 often | 3 well | 3 again | 2 quickly
)rules";
}

}  // namespace plimsoll

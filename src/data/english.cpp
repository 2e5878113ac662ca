// The embedded corpus: English sentences with number agreement (also across relative clauses and
// prepositional phrases), negation, the future tense, questions, commands and compound sentences. The
// vocabulary is deliberately small: the small preset sees only 640,000 characters in its 10,000 iterations
// and should get close to the entropy floor.
#include "data/grammar.hpp"

namespace plimsoll {

std::string_view english_rules() {
  return R"rules(
sentence: 10 <clause><end>
  | 2 <question>?/
  | 2 <clause>,_<and>_<clause><end>
  | 1 <clause>;_<clause><end>
  | 1 <name>,_<act>!/
  | 1 <opening>,_<clause><end>
end: 2 ./ | 1 !/
and: and | but
opening: now | often

# The verb agrees with the head of the subject, whatever stands between them.
clause: <subject.one>_<verb.one> | <subject.many>_<verb.many>
subject.one: 8 <one> | 1 <one>_<near>_<one> | 1 <one>_that_<verb.one>
subject.many: 8 <many> | 1 <many>_<near>_<one> | 1 <many>_that_<verb.many>
verb.one: 3 <rest>s | 4 <help>s_<object> | 1 doesn't_<act> | 2 will_<act>
verb.many: 3 <rest> | 4 <help>_<object> | 1 don't_<act> | 2 will_<act>
act: 2 <rest> | 3 <help>_<object>
question: does_<one>_<act> | do_<many>_<act> | will_<one>_<act>

one: 3 the_<adjective?><noun> | 2 a_<adjective?><noun> | 2 <name>
many: 3 the_<adjective?><noun>s | 2 two_<adjective?><noun>s
object: 2 <one> | 1 <many>
adjective?: | <adjective>_

name: ann | max | joe
noun: 3 dog | 3 cat | 3 girl | 3 boy | 2 king | 2 bird | 2 queen | 2 hen
adjective: 3 big | 3 young | 3 lazy | 1 well-known
near: 2 near | 1 by
rest: walk | rest | jump
help: follow | help | visit
)rules";
}

}  // namespace plimsoll

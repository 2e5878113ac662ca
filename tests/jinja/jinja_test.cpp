// The expected texts come from jinja2 3.1.6, set up as transformers does.
#include "jinja/jinja.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

std::string render(std::string_view text, const char* context = "{}") {
  return JinjaTemplate(text).render(nlohmann::ordered_json::parse(context));
}

// What is said where a template is refused.
std::string refusal(std::string_view text, const char* context = "{}") {
  try {
    return "rendered: " + render(text, context);
  } catch (const InputError& error) {
    return error.what();
  }
}

constexpr const char* chat =
    R"({"messages": [{"role": "system", "content": " Be kind. "}, {"role": "user", "content": "Hi"},
                     {"role": "assistant", "content": "Yo"}], "add_generation_prompt": true})";

TEST(Jinja, RendersAConversation) {
  EXPECT_EQ(
      render("{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m.content | trim }}<|im_end|>\n"
             "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
             chat),
      "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
      "<|im_start|>assistant\nYo<|im_end|>\n<|im_start|>assistant\n");
}

TEST(Jinja, ControlsWhiteSpace) {
  EXPECT_EQ(render("a\n  {% if true %}\n  b\n  {% endif %}\nc\n\n"), "a\n  b\nc\n");
  EXPECT_EQ(render("a \n {%- if true -%} \n b \n {%- endif %}\n c"), "ab c");
  EXPECT_EQ(render(" {%+ if true +%}\nx{% endif %}\r\ny"), " \nxy");
  EXPECT_EQ(render("a {{- 'b' -}} \n c {{ 'd' }}\n e"), "abc d\n e");
  EXPECT_EQ(render("a\n  {# no #}\nb {#- no -#} c"), "a\nbc");
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}\n!"), "{{ x }}!");
}

TEST(Jinja, KnowsWhereALoopIs) {
  EXPECT_EQ(
      render("{% for x in [5,6,7] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}"
             "{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}"),
      "103TrueFalse36 212FalseFalse357 321FalseTrue36 ");
}

TEST(Jinja, LoopsFilterBreakAndElse) {
  EXPECT_EQ(render("{% for x in range(9) if x is odd %}{% if x == 3 %}{% continue %}{% endif %}"
                   "{% if x == 7 %}{% break %}{% endif %}{{ x }}/{{ loop.length }} {% endfor %}"),
            "1/4 5/4 ");
  EXPECT_EQ(render("{% for x in nothing %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(render("{% for k, v in {'a': 1, 'b': [2]}.items() %}{{ k }}={{ v }};{% endfor %}"), "a=1;b=[2];");
}

TEST(Jinja, KeepsNamesInTheirScope) {
  EXPECT_EQ(
      render("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}"),
      "12 13 1");
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for i in [1, 2] %}{% set ns.n = ns.n + i %}{% endfor "
                   "%}{{ ns.n }}"),
            "3");
  EXPECT_EQ(render("{% if true %}{% set x = 4 %}{% endif %}{{ x }}"), "4");
  EXPECT_EQ(render("{% set x %}\n a {{ 1 }}{% endset %}[{{ x }}]{% set a, b = 1, 2 %}{{ a + b }}"),
            "[ a 1]3");
}

TEST(Jinja, CallsMacros) {
  EXPECT_EQ(
      render("{% macro m(a, b='B') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, b=2) }} {{ m() ~ '!' }}"),
      "1B 12 B!");
  EXPECT_EQ(render("{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}"),
            "3210");
}

TEST(Jinja, Slices) {
  EXPECT_EQ(render("{{ x[1:] }}{{ x[::-1] }}{{ x[-2:] }}{{ x[:-1] }}{{ x[3:0:-2] }}{{ x[9:] }}",
                   R"({"x": [1,2,3,4]})"),
            "[2, 3, 4][4, 3, 2, 1][3, 4][1, 2, 3][4, 2][]");
  EXPECT_EQ(render("{{ 'häuser'[:2] }}{{ 'häuser'[::-1] }}{{ 'häuser'|length }}"), "häresuäh6");
}

TEST(Jinja, Computes) {
  EXPECT_EQ(
      render(
          "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 1 + 2 * 3 }} {{ 2 ~ 'x' }} {{ 'ab' * 2 }}"),
      "3 -4 2 3.5 7 2x abab");
  EXPECT_EQ(render("{{ 1 if 0 else 2 }}{{ 1 if 0 }} {{ 1 in [1] and 'a' not in 'cb' }} {{ none or 'x' }}"),
            "2 True x");
}

TEST(Jinja, PrintsAsPython) {
  EXPECT_EQ(render("{{ [1, 2.0, 'a', \"it's\", none, true, {'k': (1,)}] }}"),
            "[1, 2.0, 'a', \"it's\", None, True, {'k': (1,)}]");
  EXPECT_EQ(render("{{ 'a\\tb\\u00e9\\x41\\q' }}"), "a\tbéA\\q");
}

TEST(Jinja, WritesJson) {
  constexpr const char* tool = R"({"t": {"b": "<é\"\n>", "a": [1, 2.5, null, {}]}})";
  EXPECT_EQ(render("{{ t | tojson }}", tool), R"({"b": "<é\"\n>", "a": [1, 2.5, null, {}]})");
  EXPECT_EQ(render("{{ t | tojson(indent=2) }}", tool),
            "{\n  \"b\": \"<é\\\"\\n>\",\n  \"a\": [\n    1,\n    2.5,\n    null,\n    {}\n  ]\n}");
}

TEST(Jinja, AppliesFilters) {
  EXPECT_EQ(
      render("{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list }}"
             "{{ messages | rejectattr('role', 'equalto', 'user') | map(attribute='role') | join(', ') }}",
             chat),
      "['Hi']system, assistant");
  EXPECT_EQ(
      render(
          "{{ 'some words' | title }} {{ 'aB' | upper }} {{ 'aB' | capitalize }} {{ ' x ' | trim }}"
          "{{ nothing | default('d') }}{{ '' | d('e', true) }} {{ '12' | int + 1 }} {{ 'abc' | reverse }}"),
      "Some Words AB Ab xde 13 cba");
  // A generator is true even where it yields nothing.
  EXPECT_EQ(render("{{ 'yes' if messages | selectattr('role', 'equalto', 'tool') else 'no' }}", chat), "yes");
}

TEST(Jinja, AppliesTests) {
  EXPECT_EQ(
      render("{{ x is defined }}{{ x is undefined }}{{ none is none }}{{ 'a' is string }}{{ {} is mapping }}"
             "{{ 3 is divisibleby 3 }}{{ 3 is not odd }}{{ true is integer }}{{ strftime_now is defined }}"),
      "FalseTrueTrueTrueTrueTrueFalseFalseFalse");
}

TEST(Jinja, CallsMethods) {
  EXPECT_EQ(
      render(
          "{{ ' a b '.strip() }}|{{ 'a,b,c'.split(',', 1) }}|{{ 'xxaxx'.strip('x') }}|{{ 'abc'.find('c') }}|"
          "{{ 'a b'.title() }}|{{ {'k': 1}.get('k') }}{{ {}.get('k', 2) }}|{{ 'ab'.startswith(('x', 'a')) "
          "}}"),
      "a b|['a', 'b,c']|a|2|A B|12|True");
}

TEST(Jinja, UndefinedIsEmpty) {
  EXPECT_EQ(render("[{{ x }}{{ x == none }}{{ not x }}{{ x | length }}{{ messages[9] }}]", chat),
            "[FalseTrue0]");
  EXPECT_EQ(refusal("{{ x.y }}"), "the chat template uses '.y' of 'x', which is undefined");
}

TEST(Jinja, GenerationIsTransparent) {
  EXPECT_EQ(
      render("{% for m in ['a'] %}{% generation %}{{ m }}{{ loop.index }}{% endgeneration %}{% endfor %}"),
      "a1");
}

TEST(Jinja, TheTemplateMayRefuse) {
  EXPECT_THROW(render("{{ raise_exception('Only users') }}"), JinjaRaised);
  EXPECT_NE(refusal("{{ raise_exception('Only users') }}").find("Only users"), std::string::npos);
}

TEST(Jinja, NamesWhatIsNotKnown) {
  EXPECT_EQ(refusal("{{ 1 | foo }}"), "the chat template uses the filter 'foo', which is not known");
  EXPECT_EQ(refusal("{{ 1 is foo }}"), "the chat template uses the test 'foo', which is not known");
  EXPECT_EQ(refusal("{{ 'a'.zfill(3) }}"),
            "the chat template uses the method 'zfill' of a string, which is not known");
  EXPECT_EQ(refusal("{% include 'x' %}"),
            "the chat template uses the statement 'include', which is not known");
  EXPECT_EQ(render("{% if false %}{{ 1 | foo is bar }}{% endif %}fine"), "fine");
}

TEST(Jinja, NamesWhatIsBroken) {
  EXPECT_EQ(refusal("{% if x %}"), "the chat template has no endif");
  EXPECT_EQ(refusal("{{ 1 + }}"), "the chat template has a tag that ends where an expression is expected");
  EXPECT_EQ(refusal("{{ 'a }}"), "the chat template has a string without an end");
  EXPECT_EQ(refusal("{{ (1] }}"), "the chat template has a ']' that closes nothing");
}

TEST(Jinja, MessagesAreOneLine) {
  for (const char* text :
       {"{{ messages[0]['a\nb'].c }}", "{{ raise_exception('a\nb') }}", "{% if 'a\nb' 'c' 1 %}"})
    try {
      JinjaTemplate(text).render({{"messages", {{{"role", "user"}}}}});
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos) << error.what();
    }
}

TEST(Jinja, SplitsLinesAsPython) {
  EXPECT_EQ(render("{{ 'a\\x0bb\\r\\nc\\u2028d\\u20ace\\n'.splitlines() | join('|') }}"), "a|b|c|d\u20ACe");
  EXPECT_EQ(render("{{ '\\n\\na'.splitlines() | length }}{{ ''.splitlines() | length }}"), "30");
  EXPECT_EQ(render("{{ 'a\\r\\nb\\n\\nc' | indent(2) }}"), "a\n  b\n\n  c");
  EXPECT_EQ(render("{{ 'a\\n' | indent(2, true, true) }}|"), "  a\n  |");
  const std::string line(300, 'x');
  EXPECT_EQ(render("{{ ('x' * 300 ~ '\\n' ~ 'x' * 300) | indent(1) }}"), line + "\n " + line);
}

TEST(Jinja, HostileTemplatesEnd) {
  for (const char* const work : {"s | trim", "s | int", "s[1:2]"})
    EXPECT_EQ(refusal("{% set s = ' ' * 4194304 %}{% for i in range(100000) %}{% set x = " +
                      std::string(work) + " %}{% endfor %}"),
              "the chat template takes too long: more than 1000000 steps");
  EXPECT_EQ(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
            "the chat template calls itself too deep");
  EXPECT_EQ(refusal("{{ range(1000000000) }}"), "the chat template uses a range of more than 100000");
  const std::string nested = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
  EXPECT_EQ(refusal(nested), "the chat template takes too long: more than 1000000 steps");
  EXPECT_EQ(
      refusal("{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor %}"),
      "the chat template makes a text of more than 4 MiB");
  EXPECT_EQ(
      refusal("{% set n = namespace(l=[]) %}{% for i in range(999) %}{% set n.l = [n.l, n.l] %}{% endfor %}"),
      "the chat template nests lists deeper than 100");
  EXPECT_EQ(refusal("{{ " + std::string(99999, '(') + std::string(99999, ')') + " }}"),
            "the chat template nests deeper than 200");
  EXPECT_EQ(refusal("{{ 9223372036854775807 + 1 }}"),
            "the chat template computes with a number that is too large");
  EXPECT_EQ(refusal("{{ 1 // 0 }}"), "the chat template divides by zero");
}

}  // namespace
}  // namespace plimsoll

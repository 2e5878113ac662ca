// Every column of the run file, once: its name, the field of the row it holds and whether it may be NULL. The
// statements that create, extend, fill, read and follow a table are made from these lists.
// docs/formats/run-db.md shows the same tables; a test compares them.
//
// To add a column: a field in rows.hpp and a line here. Files written before it existed lack it: it must be
// one that may be NULL, is read as not known, and is added when such a run is resumed.
#pragma once
#include <string>
#include <tuple>

#include "record/rows.hpp"

namespace plimsoll {

inline constexpr int32_t run_application_id = 0x506c696d;  // "Plim"
inline constexpr int32_t run_format_version = 1;

template <typename Row, typename Field>
struct Column {
  const char* name;
  Field Row::*field;
  const char* constraint;  // in SQL; empty: may be NULL
};

template <typename Row, typename Field>
constexpr Column<Row, Field> optional(const char* name, Field Row::*field) {
  return {name, field, ""};
}
template <typename Row, typename Field>
constexpr Column<Row, Field> required(const char* name, Field Row::*field,
                                      const char* constraint = "NOT NULL") {
  return {name, field, constraint};
}

enum class Numbering {
  by_id,  // begins with `id INTEGER PRIMARY KEY`, the order of writing; a row with an `id` gives its own
  none,
  by_key,  // the first column is the key
};

template <typename Row>
struct Table;  // name, columns, and where they differ from the usual: numbering, later

struct UsualTable {
  static constexpr Numbering numbering = Numbering::by_id;
  static constexpr bool later = false;  // early files of this format lack the whole table
};

template <typename Text>
struct Table<BasicRun<Text>> : UsualTable {
  using Row = BasicRun<Text>;
  static constexpr const char* name = "run";
  static constexpr Numbering numbering = Numbering::none;
  static constexpr std::tuple columns{required("kind", &Row::kind), required("started", &Row::started),
                                      required("version", &Row::version), required("machine", &Row::machine)};
};

template <typename Text>
struct Table<BasicSession<Text>> : UsualTable {
  using Row = BasicSession<Text>;
  static constexpr const char* name = "sessions";
  static constexpr std::tuple columns{required("started", &Row::started), required("version", &Row::version),
                                      required("time", &Row::time), required("step", &Row::step)};
};

template <typename Text>
struct Table<BasicSetting<Text>> : UsualTable {
  using Row = BasicSetting<Text>;
  static constexpr const char* name = "configuration";
  static constexpr Numbering numbering = Numbering::by_key;
  static constexpr std::tuple columns{required("key", &Row::key, "PRIMARY KEY"),
                                      required("value", &Row::value)};
};

template <>
struct Table<StepRow> : UsualTable {
  using Row = StepRow;
  static constexpr const char* name = "steps";
  static constexpr std::tuple columns{required("step", &Row::step),
                                      required("time", &Row::time),
                                      optional("loss", &Row::loss),
                                      optional("lr", &Row::learning_rate),
                                      optional("tokens_per_second", &Row::tokens_per_second),
                                      optional("iterations_per_second", &Row::iterations_per_second),
                                      optional("grad_norm", &Row::gradient_norm),
                                      optional("cross_entropy", &Row::cross_entropy),
                                      optional("distrust", &Row::distrust),
                                      optional("waited", &Row::waited)};
};

template <>
struct Table<EvaluationRow> : UsualTable {
  using Row = EvaluationRow;
  static constexpr const char* name = "evaluations";
  static constexpr std::tuple columns{required("step", &Row::step), required("time", &Row::time),
                                      optional("loss", &Row::loss), optional("floor", &Row::floor)};
};

template <typename Text>
struct Table<BasicPhaseName<Text>> : UsualTable {
  using Row = BasicPhaseName<Text>;
  static constexpr const char* name = "phase_names";
  static constexpr std::tuple columns{required("name", &Row::name, "NOT NULL UNIQUE")};
};

template <>
struct Table<PhaseRow> : UsualTable {
  using Row = PhaseRow;
  static constexpr const char* name = "phases";
  static constexpr std::tuple columns{required("time", &Row::time), required("phase", &Row::phase_id)};
};

template <>
struct Table<MemoryRow> : UsualTable {
  using Row = MemoryRow;
  static constexpr const char* name = "memory";
  static constexpr std::tuple columns{required("time", &Row::time),
                                      optional("step", &Row::step),
                                      optional("phase", &Row::phase_id),
                                      optional("rss", &Row::rss),
                                      optional("pss", &Row::pss),
                                      optional("private", &Row::private_bytes),
                                      optional("shared", &Row::shared),
                                      optional("swap", &Row::swap),
                                      optional("processes", &Row::processes),
                                      optional("limit_bytes", &Row::limit),
                                      optional("available", &Row::available),
                                      optional("gpu", &Row::gpu),
                                      optional("pressure", &Row::pressure),
                                      required("pss_interpolated", &Row::pss_interpolated),
                                      optional("file", &Row::file)};
};

template <typename Text>
struct Table<BasicProcess<Text>> : UsualTable {
  using Row = BasicProcess<Text>;
  static constexpr const char* name = "processes";
  static constexpr std::tuple columns{required("pid", &Row::pid),
                                      required("start_time", &Row::start_time),
                                      optional("parent", &Row::parent),
                                      required("name", &Row::name),
                                      required("arguments", &Row::arguments),
                                      required("role", &Row::role),
                                      required("first_seen", &Row::first_seen),
                                      optional("ended", &Row::ended)};
};

template <>
struct Table<ProcessSampleRow> : UsualTable {
  using Row = ProcessSampleRow;
  static constexpr const char* name = "process_samples";
  static constexpr std::tuple columns{required("process", &Row::process),
                                      required("time", &Row::time),
                                      optional("rss", &Row::rss),
                                      optional("pss", &Row::pss),
                                      optional("private", &Row::private_bytes),
                                      optional("shared", &Row::shared),
                                      optional("swap", &Row::swap),
                                      optional("threads", &Row::threads),
                                      optional("fds", &Row::descriptors),
                                      optional("cpu", &Row::cpu),
                                      optional("gpu", &Row::gpu),
                                      required("pss_interpolated", &Row::pss_interpolated)};
};

template <typename Text>
struct Table<BasicEvent<Text>> : UsualTable {
  using Row = BasicEvent<Text>;
  static constexpr const char* name = "events";
  static constexpr std::tuple columns{required("time", &Row::time), required("kind", &Row::kind),
                                      required("text", &Row::text)};
};

template <typename Text>
struct Table<BasicPlanValue<Text>> : UsualTable {
  using Row = BasicPlanValue<Text>;
  static constexpr const char* name = "plan";
  static constexpr std::tuple columns{required("name", &Row::name),     required("role", &Row::role),
                                      required("offset", &Row::offset), required("bytes", &Row::bytes),
                                      required("first", &Row::first),   required("last", &Row::last)};
};

template <typename Text>
struct Table<BasicPlanRole<Text>> : UsualTable {
  using Row = BasicPlanRole<Text>;
  static constexpr const char* name = "plan_roles";
  static constexpr bool later = true;
  static constexpr std::tuple columns{required("role", &Row::role), required("bytes", &Row::bytes)};
};

template <typename Text>
struct Table<BasicSite<Text>> : UsualTable {
  using Row = BasicSite<Text>;
  static constexpr const char* name = "sites";
  static constexpr bool later = true;
  static constexpr std::tuple columns{required("time", &Row::time),
                                      optional("process", &Row::process),
                                      required("stack", &Row::stack),
                                      required("bytes", &Row::bytes),
                                      optional("blocks", &Row::blocks),
                                      optional("bytes_per_second", &Row::bytes_per_second),
                                      optional("hint", &Row::hint),
                                      optional("allocated_bytes", &Row::allocated_bytes),
                                      optional("allocated_blocks", &Row::allocated_blocks),
                                      optional("place", &Row::place)};
};

template <>
struct Table<RankSampleRow> : UsualTable {
  using Row = RankSampleRow;
  static constexpr const char* name = "rank_samples";
  static constexpr bool later = true;
  static constexpr std::tuple columns{required("rank", &Row::rank),
                                      required("time", &Row::time),
                                      required("step", &Row::step),
                                      optional("rss", &Row::rss),
                                      optional("step_seconds", &Row::step_seconds),
                                      optional("waiting_seconds", &Row::waiting_seconds),
                                      optional("exchange_seconds", &Row::exchange_seconds)};
};

template <typename Text>
struct Table<BasicPicture<Text>> : UsualTable {
  using Row = BasicPicture<Text>;
  static constexpr const char* name = "pictures";
  static constexpr bool later = true;
  static constexpr std::tuple columns{required("number", &Row::number), required("name", &Row::name),
                                      required("question", &Row::question), required("answer", &Row::answer),
                                      required("thumbnail", &Row::thumbnail)};
};

template <typename Text>
struct Table<BasicAnswer<Text>> : UsualTable {
  using Row = BasicAnswer<Text>;
  static constexpr const char* name = "answers";
  static constexpr bool later = true;
  static constexpr std::tuple columns{required("step", &Row::step), required("picture", &Row::picture),
                                      required("text", &Row::text)};
};

template <typename Text>
struct Table<BasicVerdict<Text>> : UsualTable {
  using Row = BasicVerdict<Text>;
  static constexpr const char* name = "verdicts";
  static constexpr std::tuple columns{required("time", &Row::time), required("json", &Row::json)};
};

// Calls `each.template operator()<Row>()` for every table of the file, in the order they are created.
template <typename Text = std::string_view, typename Each>
void for_each_table(Each each) {
  const auto all = [&]<typename... Rows>(std::tuple<Rows...>*) { (each.template operator()<Rows>(), ...); };
  all(static_cast<std::tuple<BasicRun<Text>, BasicSession<Text>, BasicSetting<Text>, StepRow, EvaluationRow,
                             BasicPhaseName<Text>, PhaseRow, MemoryRow, BasicProcess<Text>, ProcessSampleRow,
                             BasicEvent<Text>, BasicPlanValue<Text>, BasicPlanRole<Text>, BasicSite<Text>,
                             RankSampleRow, BasicPicture<Text>, BasicAnswer<Text>, BasicVerdict<Text>>*>(
      nullptr));
}

// Calls `each` with every column of a row's table.
template <typename Row, typename Each>
constexpr void for_each_column(Each each) {
  std::apply([&](const auto&... column) { (each(column), ...); }, Table<Row>::columns);
}

template <typename Row>
constexpr size_t column_count = std::tuple_size_v<decltype(Table<Row>::columns)>;

}  // namespace plimsoll

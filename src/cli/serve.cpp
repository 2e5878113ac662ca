// plimsoll serve: the live page, metrics and JSON over a record, finished or still growing.
#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/serve_flags.hpp"
#include "live/site.hpp"
#include "platform/child.hpp"
#include "record/run_reader.hpp"

namespace plimsoll::cli::serve_command {
namespace {

struct Text {
  std::string record;
  live::ServeOptions options;
};

void run(const Text& text) {
  std::filesystem::path record = text.record;
  if (std::filesystem::is_directory(record)) record /= "run.db";
  if (!std::filesystem::is_regular_file(record))
    fail_input("there is no run file at {}; give a run.db, or the folder of a run", record.string());
  if (std::filesystem::file_size(record) > 0) RunReader check(record);  // refused before anything is said
  const platform::SignalQueue stop({SIGINT, SIGTERM, SIGHUP});
  const live::Listening listening = live::listen_on(live::parse_endpoint(text.options));
  fmt::print("Serving {} at {} (Ctrl-C ends it)\n", record.string(), listening.url);
  std::fflush(stdout);
  live::serve_record(listening, text.options.token, record, stop.descriptor());
}

Command command(46, "serve", "serve a run's page, metrics and JSON from its record",
                "plimsoll serve runs/mine/run.db\n  plimsoll serve run.db --listen 127.0.0.1:8080",
                [](Options& options) {
                  auto text = std::make_shared<Text>();
                  options.value("record", text->record, "run.db, or the folder of a run").needed();
                  options
                      .value("--listen", text->options.address,
                             "where to listen (default 127.0.0.1 and a free port)")
                      .wants("ADDR:PORT");
                  add_serve_token(options, text->options);
                  options.run([text] { run(*text); });
                });

}  // namespace
}  // namespace plimsoll::cli::serve_command

#include "live/site.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "live/current.hpp"
#include "live/http_server.hpp"
#include "live/kept_run.hpp"
#include "live/prometheus.hpp"
#include "platform/memory.hpp"
#include "report/page.hpp"
#include "report/run_json.hpp"
#include "report/verdict_json.hpp"

namespace plimsoll::live {
namespace {

constexpr double look_seconds = 0.5;    // between looks at the record
constexpr double silence_seconds = 15;  // after which a stream is told that we are still here
constexpr int batches_per_look = 4;     // of a long record at the start; readers are answered in between

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

std::string machine_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

class Site {
 public:
  Site(const Listening& listening, std::string token)
      : endpoint_(listening.endpoint),
        token_(std::move(token)),
        cookie_(fmt::format("plimsoll-{}", endpoint_.port)),
        server_(listening.descriptor, [this](const HttpRequest& request) { return answer(request); }) {}

  HttpServer& server() { return server_; }
  void follow(const std::filesystem::path& record) { path_ = record; }
  // Reads what the record has gained and tells the streams.
  void look();
  // Everything that is there, and its end.
  void finish();

 private:
  HttpResponse answer(const HttpRequest& request);
  HttpResponse route(const HttpRequest& request);
  bool allowed(const HttpRequest& request) const;
  void open();
  void tell(std::string_view event, std::string_view data);

  Endpoint endpoint_;
  std::string token_, cookie_, machine_ = machine_name();
  std::filesystem::path path_;
  std::optional<RunTail> tail_;
  std::optional<Current> current_;
  std::string trouble_;  // why the record cannot be read just now
  double last_told_ = 0;
  HttpServer server_;
};

bool Site::allowed(const HttpRequest& request) const {
  if (token_.empty()) return true;
  std::string_view given = request.authorization;
  if (given.starts_with("Bearer ")) return same_token(given.substr(7), token_);
  if (given = query_value(request.query, "token"); !given.empty()) return same_token(given, token_);
  return same_token(cookie_value(request.cookie, cookie_), token_);
}

HttpResponse Site::answer(const HttpRequest& request) {
  if (!host_is_ours(request.host, endpoint_, machine_))
    return plain(403, "this name is not served here; use the address that was printed\n");
  if (request.method != "GET" && request.method != "HEAD") {
    HttpResponse refused = plain(405, "only GET and HEAD\n");
    refused.header = "Allow: GET, HEAD\r\n";
    return refused;
  }
  if (!allowed(request)) {
    HttpResponse refused = plain(401, "a token is needed: Authorization: Bearer TOKEN, or ?token=TOKEN\n");
    refused.header = "WWW-Authenticate: Bearer\r\n";
    return refused;
  }
  try {
    return route(request);
  } catch (const std::exception& error) {
    return plain(503, fmt::format("the record cannot be read just now: {}\n", error.what()));
  }
}

HttpResponse Site::route(const HttpRequest& request) {
  if (request.path == "/healthz")
    return plain(trouble_.empty() ? 200 : 503, trouble_.empty() ? "ok\n" : trouble_ + "\n");
  if (request.path == "/events") {
    return {.type = "text/event-stream",
            .body = std::make_shared<const std::string>("retry: 2000\n\n"),
            .stream = true};
  }
  if (request.path == "/metrics") {
    if (!current_) return plain(503, "the run has not begun yet\n");
    HttpResponse response = plain(200, metrics_text(*current_));
    response.type = "text/plain; version=0.0.4; charset=utf-8";
    return response;
  }
  return plain(404, "there are /, /metrics, /healthz, /api/run and /events\n");
}

void Site::open() {
  RunReader reader(path_);
  int64_t plan = 0;
  for (const RunReader::PlanValue& value : reader.plan()) plan = std::max(plan, value.offset + value.bytes);
  tail_.emplace(path_);
  current_.emplace(reader.run(), reader.configuration(), plan, machine_memory().total);
}

void Site::tell(std::string_view event, std::string_view data) {
  last_told_ = now();
  if (server_.streams() == 0) return;
  server_.broadcast(std::make_shared<const std::string>(
      event.empty() ? std::string(":\n\n") : fmt::format("event: {}\ndata: {}\n\n", event, data)));
}

void Site::look() {
  if (path_.empty()) return;
  try {
    if (!tail_) open();
    for (int i = 0; i < batches_per_look; ++i) {
      const RunTail::News news = tail_->next();
      if (news.rows == 0) break;
      current_->take(news);
    }
    trouble_.clear();
  } catch (const std::exception& error) {
    trouble_ = error.what();
  }
  if (now() - last_told_ > silence_seconds) tell({}, {});
}

void Site::finish() {
  for (int i = 0; i < 100 && tail_; ++i) look();
  tell("end", "{}");
  server_.run(0.2);
}

}  // namespace

void serve_followed(const Listening& listening, const std::string& token, int control) {
  Site site(listening, token);
  std::filesystem::path to_remove;
  for (;;) {
    if (site.server().run(look_seconds, control)) {
      char message[4096];
      const ssize_t size = recv(control, message, sizeof message, MSG_DONTWAIT);
      if (size <= 1) break;  // closed: the run is over
      const std::filesystem::path record(std::string(message + 1, size_t(size) - 1));
      if (message[0] == '-') to_remove = record.parent_path();
      site.follow(record);
    }
    site.look();
  }
  site.finish();
  std::error_code ignored;
  if (!to_remove.empty()) std::filesystem::remove_all(to_remove, ignored);
}

void serve_record(const Listening& listening, const std::string& token, const std::filesystem::path& record,
                  int stop) {
  RunReader check(record);  // refused before anything is served
  Site site(listening, token);
  site.follow(record);
  site.look();
  while (!site.server().run(look_seconds, stop)) site.look();
}

}  // namespace plimsoll::live

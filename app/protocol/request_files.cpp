#include "app/protocol/request_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "engine/input/file_kind.h"
#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/input/value_json.h"
#include "engine/model/path_text.h"

namespace app {
namespace {

/// Removes the caption from the line; a line that is not an object is left for request_from_json to
/// report.
std::string take_caption(std::string& line) {
  engine::Result<nlohmann::json> parsed = engine::parse_json(line);
  if (!parsed.ok()) return {};
  nlohmann::json& document = parsed.value();
  if (!document.is_object() || !document.contains("caption")) return {};
  const nlohmann::json caption = document["caption"];
  if (!caption.is_string()) return {};
  document.erase("caption");
  line = document.dump();
  return caption.get<std::string>();
}

/// The next line without its end; nullopt at the end of the log.
using NextLine = std::function<engine::Result<std::optional<std::string>>()>;

/// The lines of a file, of which only the part that is being read is kept.
class FileLines {
 public:
  FileLines(engine::RegularFile file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  engine::Result<std::optional<std::string>> next() {
    while (true) {
      const std::size_t end = kept_.find('\n', at_);
      // A line that is too long is given as far as it was read: it is refused for its length.
      if (end != std::string::npos || ended_ || kept_.size() - at_ > kMaxLoggedRequestBytes) {
        if (at_ >= kept_.size()) return std::optional<std::string>();
        std::string line = kept_.substr(at_, end == std::string::npos ? end : end - at_);
        at_ += line.size() + 1;
        return std::optional(std::move(line));
      }
      kept_.erase(0, std::exchange(at_, 0));
      ENGINE_ASSIGN(const std::string more, file_.read(kChunk));
      ended_ = more.empty();
      read_ += more.size();
      if (read_ > kMaxRequestFileBytes) {
        return engine::Error{
            engine::ErrorCode::InvalidArgument,
            fmt::format("{} has more than {} bytes; no more are read. Is it the right file?",
                        engine::shown_path(path_), kMaxRequestFileBytes)};
      }
      kept_ += more;
    }
  }
  /// The beginning of the file, before its first line has been taken.
  engine::Result<std::string> start() {
    ENGINE_ASSIGN(kept_, file_.read(kChunk));
    read_ = kept_.size();
    return kept_.substr(0, engine::kFileKindBytes);
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{256} << 10;
  engine::RegularFile file_;
  const std::string path_;
  std::string kept_;
  std::size_t at_ = 0;  // where the next line begins in it
  std::size_t read_ = 0;
  bool ended_ = false;
};

engine::Result<std::vector<LoggedRequest>> logged_requests(const NextLine& next_line,
                                                           const std::string& path) {
  std::vector<LoggedRequest> requests;
  for (int number = 1;; ++number) {
    const auto refuse = [&](engine::ErrorCode code, const std::string& why) {
      return engine::Error{code, fmt::format("{}: {}", line_of_log(path, number), why)};
    };
    ENGINE_ASSIGN(std::optional<std::string> line, next_line());
    if (!line) break;
    if (line->find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line->size() > kMaxLoggedRequestBytes) {
      return refuse(engine::ErrorCode::InvalidArgument,
                    fmt::format("it has more than {} bytes, the limit of one request: put every "
                                "request on a line of its own",
                                kMaxLoggedRequestBytes));
    }
    if (requests.size() == kMaxLoggedRequests) {
      return refuse(engine::ErrorCode::InvalidArgument,
                    fmt::format("a request log has at most {} requests: divide it into several",
                                kMaxLoggedRequests));
    }
    std::string caption = take_caption(*line);
    engine::Result<engine::RunRequest> request = engine::request_from_json(*line);
    if (!request.ok()) return refuse(request.error().code, request.error().message);
    requests.push_back({std::move(request).value(), std::move(caption), number});
  }
  if (requests.empty()) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("the request log {} holds no request; write one per line",
                                     engine::shown_path(path))};
  }
  return requests;
}

/// A file that is none of ours to read as requests.
engine::Status check_kind(std::string_view start, const std::string& path) {
  const std::string kind = engine::kind_of_file(start);
  if (kind.empty()) return {};
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("{} is not a request but {}", engine::shown_path(path), kind)};
}

}  // namespace

engine::Result<std::string> read_request_text(const std::string& path) {
  ENGINE_ASSIGN(std::string text, engine::read_file(path, kMaxRequestFileBytes));
  ENGINE_TRY(check_kind(text, path));
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) return text;
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format("{} is empty; a request is JSON, at least {{}}", engine::shown_path(path))};
}

engine::Result<engine::RunRequest> read_request(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, read_request_text(path));
  engine::Result<engine::RunRequest> request = engine::request_from_json(text);
  if (request.ok()) return request;
  return engine::Error{request.error().code,
                       fmt::format("{}: {}", engine::shown_path(path), request.error().message)};
}

engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path) {
  ENGINE_ASSIGN(engine::RegularFile file, engine::RegularFile::open(path));
  FileLines lines(std::move(file), path);
  ENGINE_ASSIGN(const std::string start, lines.start());
  ENGINE_TRY(check_kind(start, path));
  return logged_requests([&lines] { return lines.next(); }, path);
}

std::string line_of_log(const std::string& path, int line) {
  return fmt::format("{} line {}", engine::shown_path(path), line);
}

engine::Result<std::vector<LoggedRequest>> parse_request_log(std::string_view text,
                                                             const std::string& path) {
  const auto next_line = [&text]() -> engine::Result<std::optional<std::string>> {
    if (text.empty()) return std::optional<std::string>();
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return std::optional(std::move(line));
  };
  return logged_requests(next_line, path);
}

}  // namespace app

#include "app/protocol/request_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/input/file_kind.h"
#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/input/value_json.h"

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

}  // namespace

engine::Result<std::string> read_request_text(const std::string& path) {
  ENGINE_ASSIGN(std::string text, engine::read_file(path, kMaxRequestFileBytes));
  if (const std::string kind = engine::kind_of_file(text); !kind.empty()) {
    return engine::Error{engine::ErrorCode::InvalidArgument,
                         fmt::format("{} is not a request but {}", path, kind)};
  }
  if (text.find_first_not_of(" \t\r\n") != std::string::npos) return text;
  return engine::Error{engine::ErrorCode::InvalidArgument,
                       fmt::format("{} is empty; a request is JSON, at least {{}}", path)};
}

engine::Result<engine::RunRequest> read_request(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, read_request_text(path));
  engine::Result<engine::RunRequest> request = engine::request_from_json(text);
  if (request.ok()) return request;
  return engine::Error{request.error().code, fmt::format("{}: {}", path, request.error().message)};
}

engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, read_request_text(path));
  return parse_request_log(text, path);
}

engine::Result<std::vector<LoggedRequest>> parse_request_log(std::string_view text,
                                                             const std::string& path) {
  std::vector<LoggedRequest> requests;
  for (int number = 1; !text.empty(); ++number) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string caption = take_caption(line);
    engine::Result<engine::RunRequest> request = engine::request_from_json(line);
    if (!request.ok()) {
      return engine::Error{request.error().code,
                           fmt::format("{} line {}: {}", path, number, request.error().message)};
    }
    requests.push_back({std::move(request).value(), std::move(caption)});
  }
  if (requests.empty()) {
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("the request log {} holds no request; write one per line", path)};
  }
  return requests;
}

}  // namespace app

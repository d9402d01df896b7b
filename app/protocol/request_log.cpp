#include "app/protocol/request_log.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/protocol/request_json.h"

namespace app {
namespace {

using nlohmann::json;

/// Takes the caption out of the line; what is no object is left to request_from_json's sentence.
std::string take_caption(std::string& line) {
  json document = json::parse(line, nullptr, false);
  if (!document.is_object() || !document.contains("caption")) return {};
  const json caption = document["caption"];
  if (!caption.is_string()) return {};
  document.erase("caption");
  line = document.dump();
  return caption.get<std::string>();
}

}  // namespace

engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return engine::Error{engine::ErrorCode::NotFound,
                         fmt::format("cannot open the request log {}", path)};
  }
  std::vector<LoggedRequest> requests;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string caption = take_caption(line);
    engine::Result<engine::RunRequest> request = request_from_json(line);
    if (!request.ok()) {
      return engine::Error{request.error().code,
                           fmt::format("{} line {}: {}", path, number, request.error().message)};
    }
    requests.push_back({std::move(request).value(), std::move(caption)});
  }
  if (requests.empty()) {
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        fmt::format("the request log {} holds no request; write one a line", path)};
  }
  return requests;
}

}  // namespace app

#include "app/protocol/request_json.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>
#include <linux/limits.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/protocol/convert.h"
#include "engine/input/json_text.h"
#include "engine/input/regular_file.h"
#include "engine/model/text.h"

namespace app {
namespace {

namespace protobuf_json = google::protobuf::util;

std::string print(const google::protobuf::Message& message, bool pretty) {
  protobuf_json::JsonPrintOptions options;
  options.add_whitespace = pretty;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;  // a zero differs from a missing field
  std::string text;
  // Fails only on bytes that are not UTF-8; the caller's strings were checked on the way in.
  if (!protobuf_json::MessageToJsonString(message, &text, options).ok()) text.clear();
  return text;
}

class JsonCodec final : public profiling::RequestCodec {
 public:
  std::string to_json(const engine::RunRequest& request) const override {
    return request_to_json(request);
  }
  engine::Result<engine::RunRequest> from_json(const std::string& text) const override {
    return request_from_json(text);
  }
};

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

std::string request_to_json(const engine::RunRequest& request, bool pretty) {
  return print(to_wire(request), pretty);
}

engine::Result<engine::RunRequest> request_from_json(const std::string& text) {
  // A request's texts are paths and names: one that is too long is refused, since a truncated one
  // would name something else. Unknown fields appear in Protobuf's error text, and so on the
  // screen.
  constexpr engine::JsonLimits kLimits{.max_name_bytes = 256, .max_text_bytes = PATH_MAX};
  ENGINE_TRY(engine::check_json(text, kLimits));
  wire::RunRequest message;
  const auto parsed =
      protobuf_json::JsonStringToMessage(text, &message, protobuf_json::JsonParseOptions());
  if (!parsed.ok()) {
    return engine::Error{
        engine::ErrorCode::InvalidArgument,
        "the request is not valid request JSON: " +
            engine::shown_text({parsed.message().data(), parsed.message().size()})};
  }
  engine::Result<engine::RunRequest> request = from_wire(message);
  if (request.ok()) return request;
  return engine::Error{engine::ErrorCode::InvalidArgument, request.error().message};
}

std::string result_to_json(const engine::RunResult& result, bool pretty) {
  return print(to_wire(result), pretty);
}

std::string comparison_to_json(const engine::RecipeComparison& comparison, bool pretty) {
  return print(to_wire(comparison), pretty);
}

const profiling::RequestCodec& request_codec() {
  static const JsonCodec codec;
  return codec;
}

engine::Result<engine::RunRequest> read_request(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, engine::read_file(path, kMaxRequestFileBytes));
  engine::Result<engine::RunRequest> request = request_from_json(text);
  if (request.ok()) return request;
  return engine::Error{request.error().code, fmt::format("{}: {}", path, request.error().message)};
}

engine::Result<std::vector<LoggedRequest>> read_request_log(const std::string& path) {
  ENGINE_ASSIGN(const std::string text, engine::read_file(path, kMaxRequestFileBytes));
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
        fmt::format("the request log {} holds no request; write one per line", path)};
  }
  return requests;
}

}  // namespace app

#include "app/cli/request_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/cli/arguments.h"
#include "app/cli/typed_line.h"
#include "app/protocol/request_files.h"
#include "engine/model/path_text.h"
#include "engine/model/text.h"

namespace app::cli {
namespace {

constexpr std::string_view kPreset = "preset";

/// A name with '=' is a file's only if there is one; every other value without '=' may be one.
bool is_file(const std::string& word) {
  std::error_code error;
  return std::filesystem::exists(word, error) || word.find('=') == std::string::npos;
}

/// Fields that an A/B has one value of.
engine::Status check_own(const std::string& typed, std::string_view path) {
  if (path == "launch.iterations") {
    return invalid_argument(fmt::format(
        "{} is for one side, but blocks of both have as many iterations: use --iterations", typed));
  }
  if (path == "launch.median_within") {
    return invalid_argument(fmt::format(
        "{} has no effect: blocks have a fixed length; set it with --iterations", typed));
  }
  return {};
}

}  // namespace

engine::Result<RequestSide> RequestSide::read(std::string option,
                                              const std::vector<std::string>& words) {
  RequestSide side;
  side.option_ = std::move(option);
  for (const std::string& word : words) ENGINE_TRY(side.add(word));
  return side;
}

engine::Status RequestSide::add(const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (is_file(word)) {
    std::error_code error;
    const bool names_file =
        std::filesystem::exists(word, error) || word.find_first_of("./") != std::string::npos;
    if (!names_file || is_request_field(name)) {
      return invalid_argument(
          fmt::format("{} is '{}'; it must be NAME=VALUE, such as {}=..., or a request's JSON file",
                      option_, engine::shown_path(word), is_request_field(name) ? name : "recipe"));
    }
    if (!file_.empty()) {
      return invalid_argument(fmt::format("{} names two requests, {} and {}; name one", option_,
                                          engine::shown_path(file_), engine::shown_path(word)));
    }
    file_ = word;
    return {};
  }
  const RequestOption* const option = find_request_option(name);
  // A path would be replaced once more where an option of both sides has it, too.
  const bool is_path = option != nullptr && name.find('.') != std::string::npos;
  TypedSetting setting{
      .option = option,
      .value = word.substr(equals + 1),
      .typed = fmt::format("{} {}", option_, is_path ? option->names.back() : name)};
  if (setting.option == nullptr && engine::plain_word(name) != kPreset) {
    std::vector<std::string> known{std::string(kPreset)};
    for (const RequestOption& one : request_options()) {
      known.insert(known.end(), one.names.begin(), one.names.end());
    }
    return invalid_argument(
        fmt::format("{} sets '{}', which a request does not have{}; see expertscope ab "
                    "--help for its options",
                    option_, name, engine::suggestion(name, known)));
  }
  if (setting.option != nullptr) ENGINE_TRY(check_own(setting.typed, setting.option->path));
  if (std::ranges::find(settings_, setting.option, &TypedSetting::option) != settings_.end()) {
    return invalid_argument(fmt::format("{} is given twice; give it once", setting.typed));
  }
  settings_.push_back(std::move(setting));
  return {};
}

std::string RequestSide::settings_text() const {
  std::string text;
  for (const TypedSetting& one : settings_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", one.typed, one.value);
  }
  return text;
}

engine::Result<engine::RunRequest> RequestSide::resolve(
    const RequestOptions& shared, const RequestOptions::IsHere& is_here) const {
  engine::RunRequest base;
  if (!file_.empty()) {
    ENGINE_ASSIGN(base, read_request(file_));
  }
  engine::Result<engine::RunRequest> request = shared.resolve(is_here, std::move(base), settings_);
  if (request.ok()) return request;
  engine::Error error = request.error();
  error.message = message_naming(error, [this](std::string_view path) {
    const auto own = std::ranges::find_if(settings_, [path](const TypedSetting& one) {
      return one.option != nullptr && one.option->path == path;
    });
    return own == settings_.end() ? std::string() : own->typed;
  });
  if (!file_.empty()) error.message = engine::shown_path(file_) + ": " + error.message;
  return error;
}

std::string RequestSide::library_file(const RequestOptions& shared) const {
  constexpr std::string_view kLibrary = "cublaslt_library";
  const bool own = std::ranges::any_of(settings_, [](const TypedSetting& one) {
    return one.option != nullptr && one.option->path == kLibrary;
  });
  if (own || shared.given_field(kLibrary)) return {};
  return file_.empty() ? shared.library_file() : file_;
}

}  // namespace app::cli

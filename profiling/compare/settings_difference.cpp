// The codec's JSON is walked leaf by leaf: a field that is added to the request is compared at
// once.
#include "profiling/compare/settings_difference.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/input/json_text.h"

namespace profiling {
namespace {

using Leaves = std::map<std::string, std::string>;
using Json = nlohmann::ordered_json;

void collect(const Json& value, const std::string& path, Leaves& leaves) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      collect(member, path.empty() ? key : path + "." + key, leaves);
    }
  } else {
    leaves[path] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

Leaves leaves_of(const engine::RunRequest& request, const RequestCodec& codec) {
  Leaves leaves;
  const Json json = engine::written_json(codec.to_json(request));
  if (json.is_object()) collect(json, "", leaves);
  return leaves;
}

Leaves device_leaves(const engine::RunResult& result) {
  const engine::DeviceFacts& device = result.device;
  return {{"name", device.name},
          {"driver", device.driver},
          {"compute_capability", device.compute_capability},
          {"cublaslt_version", device.cublaslt_version},
          {"cublaslt_path", device.cublaslt_path},
          {"blas", device.blas},
          {"multiprocessors", fmt::to_string(device.multiprocessors)},
          {"memory_bytes", fmt::to_string(device.memory_bytes)},
          {"iteration_method", result.iteration_method},
          {"activity_method", result.activity_method},
          {"emulated", result.emulated.empty() ? "no" : result.emulated}};
}

void compare(const char* group, const Leaves& a, const Leaves& b, SettingsDifference& difference) {
  const auto value = [](const Leaves& leaves, const std::string& key) {
    const auto found = leaves.find(key);
    return found == leaves.end() ? std::string("absent") : found->second;
  };
  Leaves all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [field, unused] : all) {
    SettingsRow row{group, field, value(a, field), value(b, field)};
    if (row.a == row.b) {
      ++difference.same;
    } else {
      difference.rows.push_back(std::move(row));
    }
  }
}

}  // namespace

SettingsDifference settings_difference(const RecordedRun& a, const RecordedRun& b,
                                       const RequestCodec& codec) {
  SettingsDifference difference;
  compare("requested", leaves_of(a.request, codec), leaves_of(b.request, codec), difference);
  const std::size_t requested = difference.rows.size();
  compare("effective", leaves_of(a.result.effective, codec), leaves_of(b.result.effective, codec),
          difference);
  compare("device", device_leaves(a.result), device_leaves(b.result), difference);
  const auto told = [&](const SettingsRow& row) {
    for (std::size_t i = 0; i < requested; ++i) {
      const SettingsRow& before = difference.rows[i];
      if (row.group == "effective" && row.field == before.field && row.a == before.a &&
          row.b == before.b) {
        return true;
      }
    }
    return false;
  };
  std::erase_if(difference.rows, told);
  return difference;
}

}  // namespace profiling

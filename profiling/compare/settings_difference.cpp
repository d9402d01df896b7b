#include "profiling/compare/settings_difference.h"

#include <string>
#include <utility>

#include "engine/model/values.h"

namespace profiling {
namespace {

using Leaves = engine::LeafTexts;

Leaves device_leaves(const engine::RunResult& result) {
  Leaves leaves = engine::leaf_texts(result.device);
  leaves["iteration_method"] = result.iteration_method;
  leaves["activity_method"] = result.activity_method;
  leaves["emulated"] = result.emulated.empty() ? "no" : result.emulated;
  return leaves;
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

SettingsDifference settings_difference(const RecordedRun& a, const RecordedRun& b) {
  SettingsDifference difference;
  compare("requested", engine::leaf_texts(a.request), engine::leaf_texts(b.request), difference);
  const std::size_t requested = difference.rows.size();
  compare("effective", engine::leaf_texts(a.result.effective),
          engine::leaf_texts(b.result.effective), difference);
  compare("device", device_leaves(a.result), device_leaves(b.result), difference);
  const auto already_listed = [&](const SettingsRow& row) {
    for (std::size_t i = 0; i < requested; ++i) {
      const SettingsRow& before = difference.rows[i];
      if (row.group == "effective" && row.field == before.field && row.a == before.a &&
          row.b == before.b) {
        return true;
      }
    }
    return false;
  };
  std::erase_if(difference.rows, already_listed);
  return difference;
}

}  // namespace profiling

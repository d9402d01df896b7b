#include "app/controllers/request_actions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/controllers/request_controls.h"
#include "app/sweep/number_axis.h"
#include "engine/gemm/support.h"
#include "engine/model/leaves.h"
#include "engine/model/path_text.h"
#include "engine/model/paths.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/recipe_words.h"
#include "engine/model/values.h"

namespace app {
namespace {

using engine::RunRequest;

class Collector {
 public:
  explicit Collector(const RunRequest& request) : request_(request) {}

  void add(RequestAction action) {
    RunRequest changed = request_;
    action.change(changed);
    action.chosen = changed == request_;
    actions_.push_back(std::move(action));
  }

  void add(const RequestControl& control) {
    const std::string name =
        control.options.alone[0] != '\0' ? control.options.alone : control.label;
    if (control.kind == ControlKind::Switch) {
      const bool on = control_number(control, request_) != 0;
      add({.id = control.id,
           .group = control.group,
           .title = fmt::format("{}: {}", name, on ? "off" : "on"),
           .field = control.field,
           .words = control.options.words,
           .change = [&control, on](RunRequest& request) {
             set_control_value(control, request, std::int64_t{on ? 0 : 1});
           }});
    }
    for (std::size_t i = 0; i < control.options.choices.size(); ++i) {
      const ControlChoice& choice = control.options.choices[i];
      if (choice.file) continue;  // dropped on the window, or chosen in the rail
      add({.id = fmt::format("{}.{}", control.id, i),
           .group = control.group,
           .title = fmt::format("{}: {}", name, choice.label),
           .field = control.field,
           .words = control.options.words,
           .change = [&control, value = choice.value](RunRequest& request) {
             set_control_value(control, request, value);
           }});
    }
  }

  std::vector<RequestAction> take() { return std::move(actions_); }

 private:
  const RunRequest& request_;
  std::vector<RequestAction> actions_;
};

}  // namespace

std::vector<RequestAction> request_actions(const RunRequest& request,
                                           const std::vector<engine::ShapePreset>& presets) {
  Collector all(request);
  for (const engine::ShapePreset& preset : presets) {
    all.add({.id = "shape.preset." + preset.name,
             .group = "Shape",
             .title = "Shape: " + preset.name,
             .field = "shape",
             .words = "model layer size preset",
             .change = [preset](RunRequest& r) { engine::apply_preset(preset, r); }});
  }
  for (const RequestControl& control : request_controls()) all.add(control);
  return all.take();
}

std::string refusal_of(const RequestAction& action, const RunRequest& request,
                       const LinkSupervisor& link) {
  if (action.chosen) return "Chosen already";
  if (std::string why = engine::inapplicable_reason(action.field, request); !why.empty()) {
    return why;
  }
  RunRequest changed = request;
  action.change(changed);
  if (changed.backend != request.backend) {
    if (std::string why = backend_refusal(changed.backend, link); !why.empty()) return why;
  }
  engine::Verdict verdict;
  for (const RequestControl& control : request_controls()) {
    if (action.field == control.field) verdict = control_support(control, changed, link);
  }
  return verdict.support == engine::Support::Refused ? verdict.sentence : std::string();
}

namespace {

/// What the summary's first words say already.
constexpr std::string_view kSummarized[] = {"shape.num_experts",
                                            "shape.rows",
                                            "shape.n",
                                            "shape.k",
                                            "recipe.scaling",
                                            "recipe.activation_format",
                                            "recipe.pow2_scales",
                                            "expert_layer.mixed_recipes",
                                            "expert_layer.down_scaling",
                                            "routing.distribution",
                                            "launch.kind",
                                            "launch.iterations",
                                            "launch.median_within"};

std::string setting_text(const RequestControl& control, const RunRequest& request) {
  const std::string label =
      control.options.alone[0] != '\0' ? control.options.alone : control.label;
  switch (control.kind) {
    case ControlKind::Switch:
      return control_number(control, request) != 0 ? label : label + " off";
    case ControlKind::Number:
      return fmt::format("{} {}", label, control_value(control, request));  // 2.5 s stays 2.5
    case ControlKind::Decades:
      return fmt::format("{} {:.3g}", label, control_value(control, request));
    case ControlKind::Segments:
    case ControlKind::List:
      break;
  }
  const int index = chosen_index(control, request);
  const std::string choice =
      index < 0 ? "" : choice_labels(control)[static_cast<std::size_t>(index)];
  // "Both" says it alone, "FP32" does not.
  return control.label[0] == '\0' ? choice : fmt::format("{} {}", label, choice);
}

void add_file(const char* label, const engine::InputSpec& input, std::vector<std::string>& all) {
  const auto* file = std::get_if<engine::FileInput>(&input);
  if (file == nullptr) return;
  const std::string name = engine::shown_path(engine::last_part_of(file->path));
  all.push_back(
      fmt::format("{} {}{}{}", label, name, file->tensor.empty() ? "" : ":", file->tensor));
}

/// The files that the run's values come from.
std::vector<std::string> data_words(const RunRequest& request) {
  std::vector<std::string> all;
  add_file("X", request.activations, all);
  const bool layer = engine::is_expert_layer(request);
  add_file(layer ? "Wup" : "W", request.weights, all);
  if (layer) add_file("Wdown", request.expert_layer.down_weights, all);
  if (request.products.passes != engine::StepPasses::Forward) {
    add_file("dY", request.products.gradients, all);
  }
  if (!request.routing.path.empty()) {
    all.push_back("splits " + engine::shown_path(engine::last_part_of(request.routing.path)));
  }
  return all;
}

/// What is set otherwise than by default and has an effect, as the rail calls it.
std::vector<std::string> other_settings(const RunRequest& request) {
  static const RunRequest kDefaults;
  std::vector<std::string> all;
  for (const RequestControl& control : request_controls()) {
    if (std::ranges::find(kSummarized, control.field) != std::end(kSummarized)) continue;
    if (control_value(control, request) == control_value(control, kDefaults)) continue;
    if (!engine::inapplicable_reason(control.field, request).empty()) continue;
    all.push_back(setting_text(control, request));
  }
  return all;
}

/// What distinguishes requests with one recipe's name: "E5M2", "power-of-two scales".
struct RecipeWords {
  std::string name;
  std::string format;
  std::string scales;

  explicit RecipeWords(const engine::Recipe& recipe) : name(engine::recipe_label(recipe)) {
    const engine::RecipeTraits& traits = engine::traits_of(recipe);
    if (traits.chooses_format()) {
      format = choice_label("recipe.format", static_cast<std::int64_t>(recipe.activation_format));
    }
    if (traits.chooses_pow2()) scales = engine::scales_label(recipe.pow2_scales);
  }
  /// "FP8 block E5M2, power-of-two scales"
  std::string text() const {
    return name + (format.empty() ? "" : " " + format) + (scales.empty() ? "" : ", " + scales);
  }
};

/// A request in words, in their order.
struct SummaryWords {
  std::vector<std::string> data;  // files first: they are what a person calls a run by
  std::string recipe;             // of both projections if they differ
  std::vector<std::string> details;
  std::vector<std::string> others;

  explicit SummaryWords(const RunRequest& request)
      : data(data_words(request)), others(other_settings(request)) {
    data.push_back(shape_words(request.shape));
    const RecipeWords words(request.recipe);
    if (engine::is_expert_layer(request) && request.expert_layer.mixed_recipes) {
      const RunRequest down = engine::projection_of(request, engine::Projection::Down);
      recipe = fmt::format("up {}, down {}", words.text(), RecipeWords(down.recipe).text());
    } else {
      recipe = words.name;
      for (const std::string& detail : {words.format, words.scales}) {
        if (!detail.empty()) details.push_back(detail);
      }
    }
    const engine::LaunchMode& launch = request.launch;
    others.insert(
        others.begin(),
        {choice_label("routing.distribution",
                      static_cast<std::int64_t>(request.routing.distribution)),
         fmt::format("{} {}", launch.kind == engine::LaunchKind::Eager ? "eager" : "graph",
                     launch.median_within == 0 ? fmt::format("×{}", launch.iterations)
                                               : fmt::format("to ±{} %", launch.median_within))});
  }
  std::string text() const {
    std::vector<std::string> all = data;
    std::vector<std::string> recipe_words = details;
    if (!recipe.empty()) recipe_words.insert(recipe_words.begin(), recipe);
    if (!recipe_words.empty()) all.push_back(fmt::format("{}", fmt::join(recipe_words, ", ")));
    all.insert(all.end(), others.begin(), others.end());
    return fmt::format("{}", fmt::join(all, " · "));
  }
};

/// A number that is not the same in all requests.
struct VariedNumber {
  std::string label;
  std::vector<std::string> values;  // of every request
};

std::vector<VariedNumber> varied_numbers(std::span<const RunRequest* const> requests) {
  std::vector<VariedNumber> varied;
  for (const engine::Leaf& leaf : engine::leaves_of(engine::kType<RunRequest>)) {
    if (!is_number_field(leaf.path)) continue;
    VariedNumber number{.label = setting_label(leaf.path), .values = {}};
    for (const RunRequest* request : requests) {
      const engine::FoundLeaf found =
          engine::find_leaf(engine::kType<RunRequest>, request, leaf.path);
      number.values.push_back(found.value == nullptr ? std::string()
                                                     : engine::text_of(*found.type, found.value));
    }
    if (std::ranges::adjacent_find(number.values, std::not_equal_to<>()) == number.values.end()) {
      continue;
    }
    varied.push_back(std::move(number));
  }
  return varied;
}

/// Removes from a list of every request what all of them have there; what follows from the recipe
/// is compared with requests of the same recipe.
void remove_shared(std::vector<SummaryWords>& all, std::vector<std::string> SummaryWords::* list,
                   bool same_recipe = false) {
  if (all.size() < 2) return;
  const auto group = [same_recipe](const SummaryWords& words) {
    return same_recipe ? words.recipe : std::string();
  };
  std::map<std::string, std::size_t> requests;
  std::map<std::pair<std::string, std::string>, std::size_t> having;
  for (const SummaryWords& words : all) {
    ++requests[group(words)];
    for (const std::string& one : std::set((words.*list).begin(), (words.*list).end())) {
      ++having[{group(words), one}];
    }
  }
  for (SummaryWords& words : all) {
    std::erase_if(words.*list, [&](const std::string& one) {
      return having[{group(words), one}] == requests[group(words)];
    });
  }
}

std::vector<SummaryWords> words_without_shared(std::span<const RunRequest* const> requests) {
  std::vector<SummaryWords> words;
  for (const RunRequest* request : requests) words.emplace_back(*request);
  remove_shared(words, &SummaryWords::data);
  remove_shared(words, &SummaryWords::details, /*same_recipe=*/true);
  remove_shared(words, &SummaryWords::others);
  return words;
}

std::vector<std::string> texts_of(const std::vector<SummaryWords>& all) {
  std::vector<std::string> texts;
  for (const SummaryWords& one : all) texts.push_back(one.text());
  return texts;
}

}  // namespace

std::string shape_words(const engine::ShapeSpec& shape) {
  if (!shape.preset.empty()) return shape.preset;
  return fmt::format("E{} R{} N{} K{}", shape.num_experts, shape.rows, shape.n, shape.k);
}

std::string summary_of(const RunRequest& request) { return SummaryWords(request).text(); }

std::vector<std::string> summaries_of(std::span<const RunRequest* const> requests) {
  return texts_of(words_without_shared(requests));
}

std::vector<std::string> titles_of(std::span<const RunRequest* const> requests) {
  std::vector<SummaryWords> words = words_without_shared(requests);
  const auto different = [](const std::vector<SummaryWords>& all) {
    const std::vector<std::string> texts = texts_of(all);
    return std::set(texts.begin(), texts.end()).size();
  };
  const std::size_t needed = different(words);
  std::set<std::string> removable;
  for (const SummaryWords& one : words) removable.insert(one.others.begin(), one.others.end());
  for (const std::string& setting : removable) {
    std::vector<SummaryWords> shorter = words;
    for (SummaryWords& one : shorter) std::erase(one.others, setting);
    if (different(shorter) == needed) words = std::move(shorter);
  }
  return texts_of(words);
}

std::string shared_summary_of(std::span<const RunRequest* const> requests) {
  if (requests.empty()) return {};
  SummaryWords shared(*requests.front());
  for (const RunRequest* request : requests) {
    const SummaryWords other(*request);
    for (auto list : {&SummaryWords::data, &SummaryWords::details, &SummaryWords::others}) {
      std::erase_if(shared.*list, [&](const std::string& one) {
        return std::ranges::find(other.*list, one) == (other.*list).end();
      });
    }
    if (shared.recipe == other.recipe) continue;
    shared.recipe.clear();
    shared.details.clear();
  }
  return shared.text();
}

std::vector<std::string> sweep_names(std::span<const RunRequest* const> requests) {
  const auto varies = [&](const auto& of) {
    return std::ranges::any_of(
        requests, [&](const RunRequest* one) { return of(*one) != of(*requests.front()); });
  };
  const bool backends = varies([](const RunRequest& one) { return one.backend; });
  const bool workspaces = varies([](const RunRequest& one) { return one.workspace; });
  const bool routings = varies([](const RunRequest& one) { return one.routing.distribution; });
  const std::vector<VariedNumber> numbers = varied_numbers(requests);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RunRequest* request = requests[i];
    // The recipe is always part of the name.
    std::string name(engine::recipe_label(request->recipe));
    if (engine::is_expert_layer(*request) && request->expert_layer.mixed_recipes) {
      name += fmt::format(
          " up, {} down",
          engine::recipe_label(engine::projection_of(*request, engine::Projection::Down).recipe));
    }
    const auto add = [&name](std::string_view part) {
      name += ", ";
      name += part;
    };
    if (engine::inapplicable_reason("recipe.pow2_scales", *request).empty()) {
      add(engine::scales_label(request->recipe.pow2_scales));
    }
    if (backends) add(engine::traits_of(request->backend).label);
    if (workspaces) add(fmt::format("workspace {}", engine::traits_of(request->workspace).label));
    if (routings) {
      add(choice_label("routing.distribution",
                       static_cast<std::int64_t>(request->routing.distribution)));
    }
    for (const VariedNumber& number : numbers) {
      add(fmt::format("{} {}", number.label, number.values[i]));
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> group_names(std::span<const RunRequest* const> requests,
                                     std::span<const std::size_t> group_of) {
  std::vector<const RunRequest*> first;  // of each group
  for (std::size_t i = 0; i < requests.size(); ++i) {
    first.resize(std::max(first.size(), group_of[i] + 1));
    if (first[group_of[i]] == nullptr) first[group_of[i]] = requests[i];
  }
  std::vector<std::string> names(first.size());
  for (const VariedNumber& number : varied_numbers(requests)) {
    std::vector<std::set<std::string>> values(first.size());
    for (std::size_t i = 0; i < requests.size(); ++i) values[group_of[i]].insert(number.values[i]);
    const auto has_one = [](const std::set<std::string>& of) { return of.size() == 1; };
    if (!std::ranges::all_of(values, has_one)) continue;
    for (std::size_t group = 0; group < names.size(); ++group) {
      names[group] += fmt::format("{}{} {}", names[group].empty() ? "" : ", ", number.label,
                                  *values[group].begin());
    }
  }
  const bool named = std::set(names.begin(), names.end()).size() == names.size();
  return named ? names : summaries_of(first);
}

}  // namespace app

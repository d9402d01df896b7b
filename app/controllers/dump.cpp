#include "app/controllers/dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

#include "app/controllers/operand_file.h"
#include "app/controllers/request_history.h"
#include "engine/input/recorded_routing.h"
#include "engine/input/routing_names.h"
#include "engine/input/tensor_file.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace app {
namespace {

struct NamedOperand {
  std::string_view name;
  RequestOperand operand;
};

// As people and frameworks name what a hook on a linear layer sees.
constexpr std::array kNames = {
    NamedOperand{"x", RequestOperand::X},
    NamedOperand{"input", RequestOperand::X},
    NamedOperand{"inputs", RequestOperand::X},
    NamedOperand{"activation", RequestOperand::X},
    NamedOperand{"activations", RequestOperand::X},
    NamedOperand{"hidden_states", RequestOperand::X},
    NamedOperand{"w", RequestOperand::W},
    NamedOperand{"weight", RequestOperand::W},
    NamedOperand{"weights", RequestOperand::W},
    NamedOperand{"w_up", RequestOperand::W},
    NamedOperand{"wup", RequestOperand::W},
    NamedOperand{"w13", RequestOperand::W},
    NamedOperand{"gate_up_proj", RequestOperand::W},
    NamedOperand{"w_down", RequestOperand::WDown},
    NamedOperand{"wdown", RequestOperand::WDown},
    NamedOperand{"w2", RequestOperand::WDown},
    NamedOperand{"down_proj", RequestOperand::WDown},
    NamedOperand{"dy", RequestOperand::DY},
    NamedOperand{"dout", RequestOperand::DY},
    NamedOperand{"grad", RequestOperand::DY},
    NamedOperand{"grad_output", RequestOperand::DY},
    NamedOperand{"grad_outputs", RequestOperand::DY},
    NamedOperand{"gradient", RequestOperand::DY},
    NamedOperand{"gradients", RequestOperand::DY},
};

/// Which part a name says: the operand, or the routing if the tensor may be one.
struct Meaning {
  bool known = false;
  std::optional<RequestOperand> operand;
};

Meaning meaning_of(std::string_view name, bool may_route, bool may_be_operand) {
  std::string word(name);
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (may_route && engine::numbers_by_name(word) == engine::RoutingNumbers::Counts) {
    return {.known = true, .operand = {}};
  }
  // "layers.0.input"
  word = word.substr(word.rfind('.') + 1);
  const auto found = std::ranges::find(kNames, std::string_view(word), &NamedOperand::name);
  if (!may_be_operand || found == kNames.end()) return {};
  return {.known = true, .operand = found->operand};
}

/// One part for each meaning that only one name has.
class Parts {
 public:
  void add(const Meaning& meaning, DumpPart part) {
    if (!meaning.known) return;
    part.operand = meaning.operand;
    all_.push_back(std::move(part));
  }
  std::vector<DumpPart> take() {
    std::vector<DumpPart> single;
    for (const DumpPart& one : all_) {
      if (std::ranges::count(all_, one.operand, &DumpPart::operand) == 1) single.push_back(one);
    }
    // No operand comes before the first.
    std::ranges::sort(single, {}, &DumpPart::operand);
    if (single.size() < 2) single.clear();
    return single;
  }

 private:
  std::vector<DumpPart> all_;
};

std::string file_name(const std::string& path) {
  return engine::shown_path(std::filesystem::path(path).filename().string());
}

/// "dy of dump.safetensors", "dy.npy"
std::string part_name(const DumpPart& part) {
  return part.tensor.empty() ? file_name(part.path)
                             : fmt::format("{} of {}", part.tensor, file_name(part.path));
}

engine::Error refused(const DumpPart& part, const std::string& why) {
  return {engine::ErrorCode::InvalidArgument, fmt::format("{}: {}", part_name(part), why)};
}

engine::RoutingSpec routing_of(const DumpPart& part) {
  engine::RoutingSpec routing;
  routing.distribution = engine::RoutingDistribution::File;
  routing.path = part.path;
  routing.tensor = part.tensor;
  return routing;
}

FileQuestion question_about(const DumpPart& part) {
  FileQuestion question{.path = part.path};
  if (!part.operand) question.routing = routing_of(part);
  return question;
}

}  // namespace

std::vector<DumpPart> dump_of_tensors(const std::string& path,
                                      const std::vector<engine::TensorEntry>& tensors) {
  Parts parts;
  for (const engine::TensorEntry& one : tensors) {
    parts.add(meaning_of(one.name, one.integers, one.usable),
              {.operand = {}, .path = path, .tensor = one.name});
  }
  return parts.take();
}

std::vector<DumpPart> dump_of_folder(const std::string& folder,
                                     const std::vector<std::string>& names) {
  constexpr std::string_view kSuffix = ".npy";
  Parts parts;
  for (const std::string& name : names) {
    if (!name.ends_with(kSuffix) || name.find('/') != std::string::npos) continue;
    parts.add(
        meaning_of(std::string_view(name).substr(0, name.size() - kSuffix.size()), true, true),
        {.operand = {}, .path = (std::filesystem::path(folder) / name).string(), .tensor = {}});
  }
  return parts.take();
}

std::vector<DumpPart> dump_of(const FileReport& report) {
  std::vector<DumpPart> parts = dump_of_tensors(report.path, report.tensors);
  if (!parts.empty()) return parts;
  const std::filesystem::path path(report.path);
  parts = dump_of_folder(path.parent_path().string(), report.neighbours);
  const bool has_this = std::ranges::any_of(parts, [&path](const DumpPart& part) {
    return std::filesystem::path(part.path).filename() == path.filename();
  });
  if (!has_this) parts.clear();
  return parts;
}

std::vector<DumpPart> parts_for(std::vector<DumpPart> parts, const engine::RunRequest& request) {
  if (engine::is_expert_layer(request)) return parts;
  std::erase_if(parts, [](const DumpPart& one) { return one.operand == RequestOperand::WDown; });
  return parts;
}

bool uses_all(const engine::RunRequest& request, const std::vector<DumpPart>& parts) {
  engine::RunRequest with = request;
  for (const DumpPart& part : parts) {
    if (part.operand) {
      input_of(with, *part.operand) = engine::FileInput{part.path, part.tensor};
    } else {
      with.routing.distribution = engine::RoutingDistribution::File;
      with.routing.path = part.path;
      with.routing.tensor = part.tensor;
    }
  }
  return with == request;
}

std::string dump_words(const std::vector<DumpPart>& parts) {
  std::string words;
  for (const DumpPart& part : parts) {
    if (part.operand) words += fmt::format("{}, ", operand_name(*part.operand));
  }
  const bool routed = std::ranges::any_of(parts, [](const DumpPart& one) { return !one.operand; });
  if (routed) return words + "splits";
  return words.substr(0, words.size() - 2);
}

std::optional<FileQuestion> DumpReading::next() const {
  if (reports_.size() == parts_.size()) return std::nullopt;
  return question_about(parts_[reports_.size()]);
}

bool DumpReading::take(const FileReport& report) {
  const std::optional<FileQuestion> open = next();
  if (!open || report.superseded || *open != FileQuestion{report.path, report.asked}) return false;
  reports_.push_back(report);
  return true;
}

std::string DumpReading::misfit(engine::RunRequest request, std::size_t part) const {
  request.shape.preset.clear();
  engine::RunRequest wanted = request;
  const FileReport& report = reports_[part];
  if (parts_[part].operand) {
    const auto tensor =
        std::ranges::find(report.tensors, parts_[part].tensor, &engine::TensorEntry::name);
    auto shape = shape_of(*tensor, *parts_[part].operand, request);
    if (!shape.ok()) return shape.error().message;
    wanted.shape = std::move(shape).value();
  } else {
    wanted.shape = engine::fitted_to_routing(request, *report.routing).shape;
    // Recorded steps need room for the largest; one step has a row for every token.
    if (report.routing->steps > 1) {
      wanted.shape.rows = std::max(wanted.shape.rows, request.shape.rows);
    }
  }
  return request_difference(request, wanted);
}

engine::Result<engine::RunRequest> DumpReading::fitted(engine::RunRequest request) const {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const DumpPart& part = parts_[i];
    const FileReport& report = reports_[i];
    if (!report.error.empty()) return refused(part, report.error);
    engine::RunRequest next = request;
    std::string size;
    if (!part.operand) {
      if (!report.routing) return refused(part, "it holds no rows per expert");
      next.routing = routing_of(part);
      next = engine::fitted_to_routing(std::move(next), *report.routing);
      size = fmt::format("{} rows for {} experts", next.shape.rows, next.shape.num_experts);
    } else {
      const auto tensor =
          std::ranges::find(report.tensors, part.tensor, &engine::TensorEntry::name);
      if (tensor == report.tensors.end()) return refused(part, "the file no longer holds it");
      if (!tensor->usable) return refused(part, tensor->reason);
      input_of(next, *part.operand) = engine::FileInput{part.path, part.tensor};
      auto shape = shape_of(*tensor, *part.operand, next);
      if (!shape.ok()) return refused(part, shape.error().message);
      next.shape = std::move(shape).value();
      size = engine::shape_text(tensor->shape);
    }
    // What the parts before it have fixed must stay.
    for (std::size_t j = 0; j < i; ++j) {
      const std::string change = misfit(next, j);
      if (change.empty()) continue;
      return refused(part,
                     fmt::format("{} does not fit {}: {}", size, part_name(parts_[j]), change));
    }
    request = std::move(next);
  }
  // A gradient is read by the backward pass alone.
  const bool has_gradient = std::ranges::any_of(
      parts_, [](const DumpPart& part) { return part.operand == RequestOperand::DY; });
  if (has_gradient && request.products.passes == engine::StepPasses::Forward) {
    request.products.passes = engine::StepPasses::ForwardBackward;
  }
  return request;
}

}  // namespace app

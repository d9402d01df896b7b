#include "profiling/hazards/model/gallery_catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

std::vector<HazardCase> memory_cases() {
  return {
      {.id = "shared-workspace",
       .hazard = 1,
       .title = "Two grouped matmuls share one workspace",
       .mistake = "Every grouped matmul of the step gets the same cuBLASLt workspace, because they "
                  "run one after another.",
       .symptom = "Eager steps are correct. From the second replay on, the second product is wrong "
                  "for some experts, and nothing reports it.",
       .cure = "Each matmul in a graph has its own workspace. A newer cuBLASLt does "
               "without.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Is the first replay right, and a later grouped matmul wrong for "
                              "some experts from the second on?"}},
       .rule = "shared-workspace",
       .plain = Verdict::Wrong,
       .library = "13.5.1.27 or 13.6.0.2"},
      {.id = "flag-not-reset",
       .hazard = 10,
       .title = "A counter that no replay resets",
       .mistake = "A kernel whose blocks wait for each other counts arrivals in device memory. The "
                  "program clears the counter after a launch, but not during capture.",
       .symptom = "The first replay is correct. The second spins forever: the counter starts where "
                  "the first one left it and never reaches the number that the blocks wait for.",
       .cure = "A memset before the kernel, captured with it.",
       .signs = {{.symptom = Symptom::Hangs,
                  .question = "Does the first replay end, and the second one never?"}},
       .rule = "unreset-counter",
       .plain = Verdict::Hung,
       .library = {}},
      {.id = "workspace-freed",
       .hazard = 3,
       .title = "A workspace is returned to its pool after the capture",
       .mistake = "The program takes a workspace from a pool, captures with it and returns it. The "
                  "next tensor that the user allocates gets the same memory.",
       .symptom =
           "The step's own output is correct, but every replay overwrites the user's tensor.",
       .cure = "The workspace belongs to the graph and lives as long as the graph.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Is the step right, and a tensor that was allocated after the "
                              "capture overwritten?"}},
       .rule = "freed-memory",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "workspace-regrown",
       .hazard = 3,
       .title = "A workspace grows during a capture",
       .mistake = "A later layer needs more scratch than the workspace has, so the program returns "
                  "it and takes a larger one during the capture. The kernels captured before keep "
                  "the old address.",
       .symptom = "The step's own outputs are correct, but every replay overwrites the tensor that "
                  "got the old address.",
       .cure = "The workspace has its final size before the capture starts.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Is the step right, and did a workspace grow during the capture, so "
                              "that a tensor has its old address?"}},
       .rule = "freed-memory",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "pool-alias",
       .hazard = 4,
       .title = "Two graphs use one block of a pool for different tensors",
       .mistake = "After the forward graph was captured, the program drops its reference to the "
                  "saved activation. The pool gives the memory to the backward graph as scratch.",
       .symptom = "The backward graph overwrites the activation before it reads it: the weight "
                  "gradient is wrong in every replay.",
       .cure = "The program keeps the activation until the backward graph is captured too.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Was the saved activation released before the backward graph was "
                              "captured, and is dW wrong in every replay?"}},
       .rule = "pool-alias",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "allocation-without-free",
       .hazard = 12,
       .title = "Memory allocated inside the graph is freed outside",
       .mistake =
           "cudaMallocAsync is captured, but the matching free happens before the next eager "
           "launch, so the graph has an allocation that it never frees.",
       .symptom = "The first replay is correct. The second is refused: the allocation of the first "
                  "still exists.",
       .cure = "The free is captured too, or the memory is allocated before the capture.",
       .signs = {{.symptom = Symptom::Refused,
                  .question = "Is the first replay right, and the second launch refused?"}},
       .rule = "unfreed-allocation",
       .plain = Verdict::Refused,
       .library = {}},
  };
}

std::vector<HazardCase> baked_cases() {
  return {
      {.id = "host-pointer-array",
       .hazard = 6,
       .title = "Expert addresses are copied from a host array in every replay",
       .mistake = "The host fills an array of expert addresses and copies it to the device in the "
                  "step. The captured copy reads the host's array again in every replay, when the "
                  "program has already reused it for another layer. Moved experts are not followed "
                  "either: every replay restores the old addresses.",
       .symptom = "Correct until the array is modified; then experts read each other's rows.",
       .cure = "A kernel computes the addresses from the row offsets, on the device.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Do experts read the rows of others after the host has changed its "
                              "array of addresses?"}},
       .rule = "host-array",
       .plain = Verdict::Right,
       .library = {}},
      {.id = "host-source-reused",
       .hazard = 7,
       .title = "A copy from staging memory that was freed",
       .mistake = "The step's input is staged in a pinned buffer that the program frees as soon as "
                  "the copy is enqueued. The captured copy keeps its address.",
       .symptom = "Correct until the staging memory has its next user; then the step computes with "
                  "that user's values.",
       .cure = "The input is copied outside the graph, into persistent device memory.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Does the step compute with values that were put into its staging "
                              "memory for something else?"}},
       .rule = "dead-host-source",
       .plain = Verdict::Right,
       .library = {}},
      {.id = "scalar-baked",
       .hazard = 8,
       .title = "A scale passed by value",
       .mistake = "The host computes a scale for each step and passes it to the kernel by value. "
                  "The graph keeps the one from the capture.",
       .symptom = "Every replay uses the first scale, whatever the schedule says.",
       .cure =
           "The kernel reads the scale from device memory, which the host writes between steps.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question =
                      "Does every replay use the first step's scale, whatever the schedule says?"}},
       .rule = "baked-scalar",
       .plain = Verdict::Right,
       .library = {}},
      {.id = "splits-baked",
       .hazard = 9,
       .title = "A grid sized by the splits of the first step",
       .mistake = "The host takes the largest expert's rows and launches as many thread blocks as "
                  "those need. The graph keeps that grid.",
       .symptom = "When an expert gets more rows than any had at the capture, its last rows are "
                  "never computed.",
       .cure = "The grid depends on the capacity; the kernel reads the splits on the device.",
       .signs =
           {{.symptom = Symptom::Wrong,
             .question =
                 "Are an expert's last rows missing once it gets more rows than at the capture?"}},
       .rule = "baked-launch",
       .plain = Verdict::Right,
       .library = {}},
  };
}

std::vector<HazardCase> order_cases() {
  return {
      {.id = "programmatic-without-wait",
       .hazard = 13,
       .title = "An early start without a wait",
       .mistake = "For speed, the captured consumer is launched with programmatic stream "
                  "serialization, but its kernel never waits for the producer's writes "
                  "(cudaGridDependencySynchronize).",
       .symptom = "The consumer reads rows that the producer has not written yet.",
       .cure = "The consumer waits before its first read, or is launched without the attribute.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question =
                      "Is it right without programmatic stream serialization, and wrong with it?"}},
       .rule = "programmatic-without-wait",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "unordered-siblings",
       .hazard = 14,
       .title = "Two branches share a tensor without an order",
       .mistake = "The step forks to a second stream. The matmul there reads the activation that "
                  "the first branch writes, and no event orders them.",
       .symptom = "Correct as long as the writer happens to be the faster branch. A busier device "
                  "or another clock makes occasional steps wrong.",
       .cure = "The reading branch waits for an event that is recorded after the writer.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question =
                      "Does the step fork to a second stream, and is it wrong only now and then?"}},
       .rule = "unordered-access",
       .plain = Verdict::Right,
       .library = {}},
      {.id = "freed-before-use",
       .hazard = 23,
       .title = "A tensor is freed in the graph before a second stream has used it",
       .mistake = "The second stream of the step reads a tensor from the stream-ordered allocator. "
                  "Eager steps free it once both streams are done with it; under capture the "
                  "program frees it at once.",
       .symptom = "The step's next tensor gets the memory and overwrites it while the second "
                  "stream still reads: results are wrong in every replay.",
       .cure = "The free is captured behind the last use, once the first stream has waited for the "
               "second.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Is a tensor freed on one stream of the step while another stream "
                              "of it still reads?"}},
       .rule = "used-after-free-node",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "missing-join",
       .hazard = 14,
       .title = "A fork that is never joined",
       .mistake = "Half of the work runs on a second stream, and nothing makes the first stream "
                  "wait for it: eager steps synchronise the device at the end anyway.",
       .symptom = "The capture cannot be ended: cudaErrorStreamCaptureUnjoined.",
       .cure = "An event after the branch's last kernel, which the first stream waits for.",
       .signs = {{.symptom = Symptom::Refused,
                  .question =
                      "Is the end of the capture refused, after a fork to a second stream?"}},
       .rule = "unjoined-capture",
       .plain = Verdict::Refused,
       .library = {}},
      {.id = "lazy-load-in-capture",
       .hazard = 15,
       .title = "A kernel is loaded during a capture",
       .mistake = "The warm-up runs a different instance of the kernel from the capture, so the "
                  "captured one is loaded when the capture first launches it.",
       .symptom =
           "Often only that this capture is slower. Loading may synchronise, so the capture can "
           "fail, or a host thread can wait forever if another one occupies the device.",
       .cure = "Every kernel is launched once before the capture, or all are loaded at the start "
               "(CUDA_MODULE_LOADING=EAGER).",
       .signs = {{.symptom = Symptom::Slow,
                  .question =
                      "Is the first capture slow, and the next one in the same process not?"},
                 {.symptom = Symptom::Hangs,
                  .question = "Does the capture itself never end, while another thread keeps the "
                              "device busy?"},
                 {.symptom = Symptom::Refused,
                  .question = "Does the capture fail only in a process that has not launched the "
                              "kernel before?"}},
       .rule = "lazy-load",
       .plain = Verdict::Right,
       .library = {}},
      {.id = "sync-in-capture",
       .hazard = 16,
       .title = "The host waits inside a capture",
       .mistake = "The step copies the splits to the host and waits for them, to size its launch.",
       .symptom = "The capture is refused: cudaErrorStreamCaptureUnsupported.",
       .cure = "The launch is sized by the capacity and the splits stay on the device.",
       .signs =
           {{.symptom = Symptom::Refused,
             .question =
                 "Is it refused where the host copies a value from the device and waits for it?"}},
       .rule = "sync-in-capture",
       .plain = Verdict::Refused,
       .library = {}},
  };
}

std::vector<HazardCase> graphs_cases() {
  return {
      {.id = "saved-tensor-freed",
       .hazard = 18,
       .title = "What forward saved is freed before backward is captured",
       .mistake =
           "The activation that backward reads is referenced by the capture of forward only. "
           "Once that has ended, the pool has it back, and the loss, which runs between the "
           "two graphs, gets its memory.",
       .symptom =
           "Every replay of backward reads what the loss has left there: the weight gradient "
           "is wrong, and eager steps are right.",
       .cure = "The program keeps the activation until backward is captured, and as long as the "
               "graphs are replayed.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Does other work, such as a loss, run between the forward and the "
                              "backward graph, and is dW what it left there?"}},
       .rule = "freed-between-graphs",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "concurrent-workspace",
       .hazard = 11,
       .title = "Two graphs replayed at the same time share a workspace",
       .mistake = "Routed experts and a shared expert are a graph each and use one workspace, as "
                  "they do in eager steps, one after the other. Their replays run on two streams.",
       .symptom = "Each overwrites what the other has in the workspace, whenever they overlap.",
       .cure = "Each graph has its own workspace. An event between the replays would do as well.",
       .signs =
           {{.symptom = Symptom::Wrong,
             .question =
                 "Is each graph right alone, and wrong when two are replayed at the same time?"}},
       .rule = "overlapping-graphs",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "replays-out-of-order",
       .hazard = 4,
       .title = "Graphs of one pool, replayed in another order than captured",
       .mistake =
           "Forward and backward are captured for one micro-batch, then for the next, so the "
           "pool gives what the first one saved to the second. The step replays forward 1, "
           "forward 2, backward 1, backward 2.",
       .symptom = "Forward 2 overwrites what backward 1 is about to read: the first micro-batch's "
                  "gradient is wrong in every replay.",
       .cure = "The graphs are captured in the order in which the step replays them, so that both "
               "micro-batches in flight have memory of their own.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question =
                      "Is the gradient right with one micro-batch in flight, and wrong with two?"}},
       .rule = "replay-order",
       .plain = Verdict::Wrong,
       .library = {}},
      {.id = "one-scale-for-all",
       .hazard = 8,
       .title = "One amax and one scale for every expert",
       .mistake =
           "Experts with delayed scaling have an amax and a scale each. As they have the same "
           "shape, the work of one is captured and replayed for all of them, and the place "
           "of its amax and scale is an argument of the captured kernels.",
       .symptom = "Every expert is scaled by the amax of the expert before it, and its own scale "
                  "stays as it was before the capture.",
       .cure =
           "A graph for every expert. A kernel that reads the expert's index from device memory "
           "would do as well.",
       .signs = {{.symptom = Symptom::Wrong,
                  .question = "Is every expert scaled by the amax of the expert before it?"}},
       .rule = "baked-index",
       .plain = Verdict::Wrong,
       .library = {}},
  };
}

constexpr std::string_view kTwin = " (healthy twin)";

std::vector<HazardCase> all_cases() {
  std::vector<HazardCase> all = memory_cases();
  for (const auto& more : {baked_cases(), order_cases(), graphs_cases()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

const std::vector<HazardCase>& hazard_cases() {
  static const std::vector<HazardCase> cases = all_cases();
  return cases;
}

const HazardCase* find_hazard_case(const std::string& id) {
  const std::vector<HazardCase>& cases = hazard_cases();
  const auto found = std::find_if(cases.begin(), cases.end(),
                                  [&](const HazardCase& hazard) { return hazard.id == id; });
  return found == cases.end() ? nullptr : &*found;
}

std::string_view words_of(Symptom symptom) {
  switch (symptom) {
    case Symptom::Hangs:
      return "A replay or the capture never ends";
    case Symptom::Wrong:
      return "Results are wrong or change from replay to replay, and nothing reports it";
    case Symptom::Refused:
      return "The capture or a launch fails with an error";
    case Symptom::Slow:
      return "Results are right, and it takes longer than it should";
  }
  return "";
}

std::vector<SymptomLead> leads_of(Symptom symptom) {
  std::vector<SymptomLead> leads;
  for (const HazardCase& hazard : hazard_cases()) {
    for (const HazardSign& sign : hazard.signs) {
      if (sign.symptom != symptom) continue;
      leads.push_back({.hazard = &hazard,
                       .question = &sign.question,
                       .usual = sign.symptom == hazard.signs.front().symptom});
    }
  }
  return leads;
}

std::string title_of(const SymptomLead& lead) {
  if (lead.usual) return lead.hazard->title;
  return fmt::format("{} (usually {})", lead.hazard->title,
                     name_of(lead.hazard->signs.front().symptom));
}

std::string symptoms_of(const HazardCase& hazard) {
  std::string text(name_of(hazard.signs.front().symptom));
  const char* separator = " (or ";
  for (std::size_t i = 1; i < hazard.signs.size(); ++i) {
    const std::string_view other = name_of(hazard.signs[i].symptom);
    if (text.find(other) != std::string::npos) continue;
    text += fmt::format("{}{}", separator, other);
    separator = ", ";
  }
  return text.find(" (or ") == std::string::npos ? text : text + ")";
}

std::string subject_title(const GallerySubject& subject) {
  const HazardCase* hazard = find_hazard_case(subject.id);
  const std::string name = hazard == nullptr ? subject.id : hazard->title;
  return subject.healthy ? name + std::string(kTwin) : name;
}

std::optional<GallerySubject> gallery_subject(const std::string& title) {
  const bool healthy = title.ends_with(kTwin);
  const std::string name = healthy ? title.substr(0, title.size() - kTwin.size()) : title;
  for (const HazardCase& hazard : hazard_cases()) {
    if (hazard.title == name) return GallerySubject{.id = hazard.id, .healthy = healthy};
  }
  return std::nullopt;
}

}  // namespace profiling

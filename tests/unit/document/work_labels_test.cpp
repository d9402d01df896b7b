// One name for each kernel, where only one name is shown.
#include "profiling/document/work_labels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profiling/document/run_tables.h"

namespace profiling {
namespace {

using engine::Stage;
using engine::WrittenValue;

TEST(WorkLabels, AKernelIsNamedOnlyWhereItsOperationHasSeveral) {
  WorkLabels labels;
  for (const char* const kernel :
       {"kernels::(anonymous namespace)::permute_kernel<float>(int)", "kernels::routing_map_kernel",
        "kernels::routing_counts_kernel(kernels::Args)", "memset"}) {
    labels.add("permute X", kernel);
    labels.add("permute X", kernel);  // in every iteration
  }
  labels.add("fprop up", "nvjet_sm90_qqtst_128x64");
  labels.add("fprop up", "memset");
  EXPECT_EQ(labels.label("permute X", "permute_kernel"), "permute X");
  EXPECT_EQ(labels.label("permute X", "kernels::routing_map_kernel"), "permute X (routing map)");
  EXPECT_EQ(labels.label("permute X", "routing_counts"), "permute X (routing counts)");
  EXPECT_EQ(labels.label("permute X", "memset"), "memset for permute X");
  EXPECT_EQ(labels.label("fprop up", "nvjet_sm90_qqtst_128x64"), "fprop up");
  EXPECT_EQ(labels.label("", "kernels::routing_map_kernel"), "routing_map");
  // A library's name is kept as it is.
  labels.add("fprop up", "nvjet_sm90_qqtst_256x64");
  EXPECT_EQ(labels.label("fprop up", "nvjet_sm90_qqtst_128x64"), "fprop up (nvjet_qqtst_128x64)");
}

RecordedRun permuted() {
  RecordedRun run;
  run.activity.names = {"permute_kernel", "routing_map_kernel"};
  for (std::uint32_t name = 0; name < 2; ++name) {
    for (int iteration = 0; iteration < 3; ++iteration) {
      ActivityRecord record;
      record.name = name;
      record.iteration = iteration;
      record.stage = Stage::Permute;
      record.writes = engine::written(engine::StepTensor::X);
      run.activity.records.push_back(record);
    }
    run.activity.nodes.push_back({.id = name + 1,
                                  .name = run.activity.names[name],
                                  .stage = Stage::Permute,
                                  .writes = engine::written(engine::StepTensor::X),
                                  .dependencies = {}});
  }
  return run;
}

TEST(WorkLabels, ARunsRecordsAndTheNodesOfItsGraphHaveThem) {
  const RecordedRun run = permuted();
  const WorkLabels labels = work_labels(run.activity, engine::StepKind::Linear);
  EXPECT_EQ(labels.label("permute X", "routing_map_kernel"), "permute X (routing map)");
  const Table nodes = graph_nodes_table(run, nullptr);
  std::vector<std::string> names;
  nodes.rows([&](const Row& row) { names.push_back(*row.cells[3].text()); });
  EXPECT_EQ(names, (std::vector<std::string>{"permute X", "permute X (routing map)"}));
}

}  // namespace
}  // namespace profiling

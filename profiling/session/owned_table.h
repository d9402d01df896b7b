// A table whose rows belong to the entries of a list - runs, comparisons, histories - read in one
// pass in key order. The first column is the owner's number, counted from 1.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/session/run_tables.h"

namespace profiling {

template <class Owner>
class OwnedTable {
 public:
  struct Spec {
    const char* key = "";  // column of the owner's number
    const char* table = "";
    const char* query = "";
    std::size_t bytes_per_row = 0;  // what a row costs in memory, texts and blobs apart
  };
  OwnedTable(const TableSource& source, std::vector<Owner>& owners, const Spec& spec)
      : rows_(source.database, source.path, spec.table, spec.query, source.budget,
              spec.bytes_per_row),
        owners_(owners),
        key_(spec.key) {}

  /// Reads to the table's end; `visit` gets the owner of every row and reads the cells after the
  /// key.
  template <class Visit>
  engine::Status each(Visit visit) {
    while (rows_.next()) {
      const auto id = rows_.integer<std::int64_t>(key_, 1, std::ssize(owners_));
      if (rows_.ok()) visit(owners_[static_cast<std::size_t>(id - 1)], rows_);
    }
    return rows_.take();
  }

 private:
  RowReader rows_;
  std::vector<Owner>& owners_;
  const char* key_;
};

}  // namespace profiling

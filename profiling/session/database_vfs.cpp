#include "profiling/session/database_vfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace profiling {
namespace {

// SQLite derives the names of the other files from this one. None of them is a path.
constexpr const char* kDatabaseName = "/recording";
constexpr std::string_view kLogName = "/recording-wal";

/// What SQLite holds of an open file: its own part first, with the table of functions.
struct OpenFile {
  sqlite3_file base;
  StoredFile* stored;
};

StoredFile& file_of(sqlite3_file* file) { return *reinterpret_cast<OpenFile*>(file)->stored; }

sqlite3_io_methods file_methods() {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;  // without shared memory and mapped files
  methods.xClose = [](sqlite3_file*) { return SQLITE_OK; };
  methods.xRead = [](sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
    return file_of(file).read({static_cast<std::byte*>(bytes), static_cast<std::size_t>(count)},
                              offset);
  };
  methods.xWrite = [](sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
    return file_of(file).write(
        {static_cast<const std::byte*>(bytes), static_cast<std::size_t>(count)}, offset);
  };
  methods.xTruncate = [](sqlite3_file* file, sqlite3_int64 bytes) {
    return file_of(file).truncate(bytes);
  };
  methods.xSync = [](sqlite3_file* file, int) { return file_of(file).sync(); };
  methods.xFileSize = [](sqlite3_file* file, sqlite3_int64* bytes) {
    *bytes = file_of(file).size();
    return SQLITE_OK;
  };
  // There is one connection. lock_for_writing() keeps other programs out.
  methods.xLock = [](sqlite3_file*, int) { return SQLITE_OK; };
  methods.xUnlock = [](sqlite3_file*, int) { return SQLITE_OK; };
  methods.xCheckReservedLock = [](sqlite3_file*, int* reserved) {
    *reserved = 0;
    return SQLITE_OK;
  };
  methods.xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; };
  methods.xSectorSize = [](sqlite3_file*) { return 4096; };
  // As SQLite's own file systems for Unix: a write leaves the bytes around it alone.
  methods.xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; };
  return methods;
}

}  // namespace

int DatabaseVfs::open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags,
                           int* out_flags) {
  auto& self = *static_cast<DatabaseVfs*>(vfs->pAppData);
  file->pMethods = nullptr;
  if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) {
    // Temporary files have no name; a rollback journal would, and is never used.
    if (name != nullptr) return SQLITE_CANTOPEN;
    sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
    return system->xOpen(system, nullptr, file, flags, out_flags);
  }
  static const sqlite3_io_methods methods = file_methods();
  StoredFile* const stored = (flags & SQLITE_OPEN_WAL) != 0 ? self.log_ : self.main_;
  new (file) OpenFile{.base = {.pMethods = &methods}, .stored = stored};
  if (out_flags != nullptr) {
    constexpr int kModes = SQLITE_OPEN_READONLY | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    *out_flags = (flags & ~kModes) |
                 (self.access_ == Access::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
  }
  return SQLITE_OK;
}

int DatabaseVfs::delete_file(sqlite3_vfs* vfs, const char* name, int) {
  auto& self = *static_cast<DatabaseVfs*>(vfs->pAppData);
  if (name != kLogName || self.access_ == Access::Read) return SQLITE_IOERR_DELETE;
  if (const int code = self.log_->truncate(0); code != SQLITE_OK) return code;
  if (self.remove_log_) self.remove_log_();
  return SQLITE_OK;
}

int DatabaseVfs::access(sqlite3_vfs* vfs, const char* name, int, int* result) {
  const auto& self = *static_cast<DatabaseVfs*>(vfs->pAppData);
  *result = name == kLogName && self.log_->size() > 0 ? 1 : 0;
  return SQLITE_OK;
}

DatabaseVfs::DatabaseVfs(StoredFile& main, StoredFile& log, Access access,
                         std::function<void()> remove_log)
    : main_(&main),
      log_(&log),
      access_(access),
      remove_log_(std::move(remove_log)),
      // Clock, random numbers and the like are the system's.
      vfs_(*sqlite3_vfs_find(nullptr)) {
  static std::atomic<unsigned> serial{0};
  name_ = fmt::format("expertscope-{}", serial++);
  vfs_.iVersion = std::min(vfs_.iVersion, 2);
  vfs_.szOsFile = std::max(vfs_.szOsFile, static_cast<int>(sizeof(OpenFile)));
  vfs_.pNext = nullptr;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = &DatabaseVfs::open_file;
  vfs_.xDelete = &DatabaseVfs::delete_file;
  vfs_.xAccess = &DatabaseVfs::access;
  vfs_.xFullPathname = [](sqlite3_vfs*, const char* name, int room, char* full) {
    const std::size_t bytes = std::strlen(name) + 1;
    if (bytes > static_cast<std::size_t>(room)) return SQLITE_CANTOPEN;
    std::memcpy(full, name, bytes);
    return SQLITE_OK;
  };
  sqlite3_vfs_register(&vfs_, 0);
}

DatabaseVfs::~DatabaseVfs() { sqlite3_vfs_unregister(&vfs_); }

std::string DatabaseVfs::full_folder(sqlite3* database) {
  sqlite3_vfs* vfs = nullptr;
  if (sqlite3_file_control(database, "main", SQLITE_FCNTL_VFS_POINTER, &vfs) != SQLITE_OK ||
      vfs == nullptr || vfs->xOpen != &DatabaseVfs::open_file) {
    return {};
  }
  const auto& self = *static_cast<const DatabaseVfs*>(vfs->pAppData);
  const std::string& of_main = self.main_->full_folder();
  return of_main.empty() ? self.log_->full_folder() : of_main;
}

engine::Result<Database> DatabaseVfs::open(const std::string& path) {
  const int mode = access_ == Access::Read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  ENGINE_ASSIGN(Database database,
                open_database(kDatabaseName, mode | SQLITE_OPEN_NOMUTEX, path, name_.c_str()));
  // Exclusive: SQLite then keeps the log's index in memory.
  ENGINE_TRY(execute_sql(database.get(), path, "PRAGMA locking_mode=EXCLUSIVE"));
  return database;
}

}  // namespace profiling

// Where files live: what local disks and object stores can both do, and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bertrain {

struct Object {
  std::string uri;
  uint64_t bytes = 0;
};

// An object being written. Nothing appears under its name before commit(); a destructor without it
// discards.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void append(std::span<const std::byte> bytes) = 0;
  // What was appended is on the device, where the store can do that, so that commit() has only the name
  // left to do: for files that have to appear together.
  virtual void settle() {}
  virtual void
  commit() = 0;  // flushed to the device, then the object appears whole; once, and last
};

enum class Exists {
  replace,
  fail
};  // fail carries locks: the create loses when the object is there

// Every method throws Error that names the uri and the system's reason.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::optional<uint64_t> size(std::string_view uri) = 0;  // nullopt: absent
  virtual void read(std::string_view uri, uint64_t offset, std::span<std::byte> into) = 0;
  virtual std::unique_ptr<Writer> create(std::string_view uri, Exists exists) = 0;
  virtual std::vector<Object> list(std::string_view prefix) = 0;  // sorted by uri, at any depth
  virtual void remove(std::string_view uri) = 0;                  // absent: no error
};

// A local path (missing parent directories are made by create), or mem://NAME for tests.
Storage& storage_for(std::string_view uri);

// Comma list of paths and globs (* ? [..]) → sorted per part; throws if one matches nothing. "-"
// stays.
std::vector<std::string> expand_globs(std::string_view list);

bool exists(std::string_view uri);
std::string read_text(std::string_view uri);  // the whole object, gzip unpacked
// The same, but throws Error that names the file when it has more than `most` bytes, counted after
// gzip is unpacked: a small packed file can hold any amount.
std::string read_text_up_to(std::string_view uri, uint64_t most);
// The same of a file that nobody named, as it lies beside another: a pipe or a device is an Error before
// it is opened, as nobody may be writing to what merely has the name of a model's file.
std::string read_file_up_to(std::string_view uri, uint64_t most);
void write_text(std::string_view uri, std::string_view text);  // replaced whole
std::string join_path(std::string_view directory, std::string_view name);
// Of a folder: the same name whether it was given with slashes at its end or not.
std::string without_slashes(std::string_view uri);
// What stands before the last part of a name, with its slash; "": nothing does.
std::string_view folder_part(std::string_view uri);

// Whether what is read is gone: "-", pipes, devices, sockets; not regular files, nor objects. Such a
// name must be opened once only, and nothing of it can be looked at in advance.
bool is_read_once(std::string_view uri);
// An Error where it is one of these, as a run reads its data again whenever it goes on.
void require_rereadable(std::string_view uri);
void refuse_pipe(std::string_view uri);  // an Error where it is one of these
bool is_local(std::string_view uri);     // a path, and no SCHEME://NAME

// Whether two names are those of one object: the same path however it is written, or one file under
// two names (links). Objects that are not there yet are compared by their path.
bool same_object(std::string_view a, std::string_view b);
// A usage error that names both where the output is one of the inputs; "-" is neither. `said_as`: how
// the user named the output: "--output_file=x.json".
void refuse_overwriting(std::string_view output, std::span<const std::string> inputs,
                        std::string_view said_as);

// Lines of a text object, split on \n only; gzip is recognised by content. The last line may lack
// its \n.
class LineReader {
 public:
  virtual ~LineReader() = default;
  virtual bool next(std::string& line) = 0;  // false at the end; without the \n
  virtual uint64_t line_number() const = 0;  // of the line last returned, from 1
  virtual const std::string& uri() const = 0;
};
std::unique_ptr<LineReader> read_lines(std::string_view uri);  // "-" is standard input

// Bytes of an object from the start, gzip recognised by content and unpacked.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  virtual size_t read(std::span<std::byte> into) = 0;  // fewer than asked only at the end
  // At least one byte unless at the end (0): what a pipe or terminal has at hand, without waiting
  // for more.
  virtual size_t read_some(std::span<std::byte> into) { return read(into); }
};
std::unique_ptr<ByteReader> read_bytes(std::string_view uri);

}  // namespace bertrain

// An array of Python as its owner describes it: tensors by the C interface of DLPack, which torch has and which
// costs some nanoseconds, arrays of numpy by Python's buffers.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>

#include "job.h"

namespace unspool {

// What an element is, in the codes of DLPack.
struct Number {
    enum Code : uint8_t { INT = 0, UINT = 1, FLOAT = 2, OTHER = 3, BFLOAT = 4, BOOL = 6 };
    uint8_t code, bits;

    bool operator==(const Number& other) const { return code == other.code && bits == other.bits; }
    std::string name() const {
        if (code == BOOL) return "bool";
        const char* const kind = code == INT      ? "int"
                                 : code == UINT   ? "uint"
                                 : code == FLOAT  ? "float"
                                 : code == BFLOAT ? "bfloat"
                                                  : "another type of ";
        return kind + std::to_string(bits);
    }
};

template <class T>
inline constexpr Number NUMBER_OF{std::is_floating_point_v<T> ? Number::FLOAT
                                  : std::is_signed_v<T>       ? Number::INT
                                                              : Number::UINT,
                                  8 * sizeof(T)};
template <>
inline constexpr Number NUMBER_OF<bf16>{Number::BFLOAT, 16};
template <>
inline constexpr Number NUMBER_OF<bool>{Number::BOOL, 8};

struct Array {
    static constexpr int MOST = 4;  // dimensions; no kernel takes more

    void* data = nullptr;
    Number number{};
    int dimensions = 0;
    int64_t shape[MOST] = {};
    bool contiguous = false, on_cpu = false;

    int64_t size() const {
        int64_t product = 1;
        for (int d = 0; d < std::min(dimensions, MOST); ++d) product *= shape[d];
        return product;
    }
};

namespace dlpack {

struct Tensor {
    void* data;
    int32_t device, device_id, dimensions;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t offset;
};

// `__dlpack_c_exchange_api__` of a type, as DLPack 1 defines it.
struct Exchange {
    uint32_t major, minor;
    void *previous, *allocate, *managed_from, *managed_to;
    int (*describe)(void* object, Tensor*);
};

// Null where a type has none.
inline const Exchange* exchange_of(PyTypeObject* type) {
    static std::unordered_map<PyTypeObject*, const Exchange*> known;
    if (const auto found = known.find(type); found != known.end()) return found->second;
    const nanobind::object capsule =
        nanobind::getattr(nanobind::handle(reinterpret_cast<PyObject*>(type)), "__dlpack_c_exchange_api__",
                          nanobind::none());
    if (!PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) return nullptr;
    const auto* exchange =
        static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (exchange->major != 1) return nullptr;
    Py_INCREF(type);  // it must not die and leave its address to another
    return known[type] = exchange;
}

}  // namespace dlpack

// False where an object is no array.
inline bool describe(PyObject* object, Array& array) {
    if (const auto* exchange = dlpack::exchange_of(Py_TYPE(object))) {
        constexpr int32_t CPU = 1;
        dlpack::Tensor tensor;
        if (exchange->describe(object, &tensor)) {
            PyErr_Clear();
            return false;
        }
        array.data = static_cast<char*>(tensor.data) + tensor.offset;
        array.number = {tensor.code, tensor.bits};
        array.dimensions = tensor.dimensions;
        array.on_cpu = tensor.device == CPU;
        array.contiguous = true;
        int64_t step = 1;
        for (int d = tensor.dimensions - 1; d >= 0; --d) {
            if (tensor.strides && tensor.shape[d] != 1 && tensor.strides[d] != step) array.contiguous = false;
            step *= tensor.shape[d];
            if (d < Array::MOST) array.shape[d] = tensor.shape[d];
        }
        return true;
    }
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_FORMAT | PyBUF_STRIDES)) {
        PyErr_Clear();
        return false;
    }
    const char* format = buffer.format ? buffer.format : "B";
    if (*format == '<' || *format == '=' || *format == '@') ++format;
    const auto is = [&](const char* letters) { return *format && std::strchr(letters, *format); };
    array.data = buffer.buf;
    array.number.code = is("?")        ? Number::BOOL
                        : is("efd")    ? Number::FLOAT
                        : is("bhilqn") ? Number::INT
                        : is("BHILQN") ? Number::UINT
                                       : Number::OTHER;
    array.number.bits = static_cast<uint8_t>(8 * buffer.itemsize);
    array.dimensions = buffer.ndim;
    array.on_cpu = true;
    array.contiguous = PyBuffer_IsContiguous(&buffer, 'C');
    for (int d = 0; d < std::min(buffer.ndim, Array::MOST); ++d) array.shape[d] = buffer.shape[d];
    PyBuffer_Release(&buffer);
    return true;
}

}  // namespace unspool

/* Calls of loops that were compiled ahead of time, from Python's arguments: nothing here decides anything.

   A loop has one entry for each of its signatures: int entry(int64_t *words). The arguments are laid out in
   words[1..]: numbers as they are; of an array its address, its shape and its strides in bytes; a tuple as its
   items. words[0] receives the result. The kinds of the arguments, 16 bits each, choose the entry.

   This file is compiled for every platform on any machine, so it declares the few names of Python's stable
   interface that it needs (PEP 384, since 3.11), and the fields of NumPy's arrays, which are fixed, too. */

#include <stdint.h>
#include <stddef.h>

#ifdef _WIN32
#define IMPORT __declspec(dllimport)
#define EXPORT __declspec(dllexport)
#else
#define IMPORT
#define EXPORT __attribute__((visibility("default")))
#endif

typedef ptrdiff_t Size;
typedef struct object { Size references; struct object *type; } Object;

typedef struct { Object head; char *data; int num_axes; Size *shape; Size *strides; Object *base; Object *dtype; int flags; } Array;
typedef struct { Object head; Object *type; char kind, letter, byte_order, former_flags; int number; } DType;
enum { C_CONTIGUOUS = 1, F_CONTIGUOUS = 2, ALIGNED = 0x100, WRITEABLE = 0x400 };

typedef struct { const char *name; Object *(*function)(Object *, Object *); int flags; const char *text; } Method;
typedef struct { int slot; void *function; } Slot;
typedef struct { const char *name; int size; int item_size; unsigned flags; Slot *slots; } TypeSpec;
typedef struct {
    struct { Object head; Object *(*init)(void); Size index; Object *copy; } base;
    const char *name, *text; Size size; Method *methods; void *slots, *traverse, *clear, *free;
} Module;
enum { TP_CALL = 50, TP_METHODS = 64, DEFAULT_AND_BASE_TYPE = 1 << 18 | 1 << 10, VARARGS = 1 };

IMPORT extern Object PyLong_Type, PyBool_Type, PyFloat_Type, _Py_NoneStruct, _Py_TrueStruct;
IMPORT extern Object *PyExc_RuntimeError;
IMPORT Size PyTuple_Size(Object *);
IMPORT Object *PyTuple_GetItem(Object *, Size);
IMPORT Object *PyTuple_New(Size);
IMPORT int PyTuple_SetItem(Object *, Size, Object *);
IMPORT int PyType_IsSubtype(Object *, Object *);
IMPORT unsigned long PyType_GetFlags(Object *);
IMPORT int PyIndex_Check(Object *);
IMPORT Object *PyNumber_Index(Object *);
IMPORT long long PyLong_AsLongLong(Object *);
IMPORT Object *PyLong_FromLongLong(long long);
IMPORT double PyFloat_AsDouble(Object *);
IMPORT Object *PyFloat_FromDouble(double);
IMPORT Object *PyBool_FromLong(long);
IMPORT Object *PyErr_Occurred(void);
IMPORT void PyErr_Clear(void);
IMPORT Object *PyErr_Format(Object *, const char *, ...);
IMPORT int PyBytes_AsStringAndSize(Object *, char **, Size *);
IMPORT int PyArg_ParseTuple(Object *, const char *, ...);
IMPORT Object *PyObject_GetAttrString(Object *, const char *);
IMPORT Object *PyObject_Call(Object *, Object *, Object *);
IMPORT void *PyMem_Malloc(size_t);
IMPORT Object *PyErr_NoMemory(void);
IMPORT void *PyEval_SaveThread(void);
IMPORT void PyEval_RestoreThread(void *);
IMPORT Object *PyImport_ImportModule(const char *);
IMPORT Object *PyType_FromSpec(TypeSpec *);
IMPORT Object *PyModule_Create2(Module *, int);
IMPORT int PyModule_AddObjectRef(Object *, const char *, Object *);
IMPORT void Py_DecRef(Object *);
IMPORT void Py_IncRef(Object *);

enum { MAX_WORDS = 1024, MAX_AXES = 4, ARRAY = 0x8000, TUPLE = 0x4000, INT = 1, BOOL = 2, FLOAT = 3, NONE = 4, FLOAT32 = 5 };
enum { TUPLE_SUBCLASS = 1 << 26 };

typedef struct { int64_t words[MAX_WORDS]; uint16_t kinds[MAX_WORDS]; int num_words, num_kinds; } Arguments;
typedef struct entry { struct entry *next; int (*code)(int64_t *); char results[8]; int num_kinds; uint16_t kinds[]; } Entry;
typedef struct { Object head; Entry *entries; } Loop;

static Object *array_type, *float32_type;

/* NumPy's numbers of its types, which have C's sizes, to 1 bool, 2 int8, 3 uint8, ... 9 uint64, 10 float32,
   11 float64; 0: no loop takes them. */
static const uint8_t ELEMENTS[] = {
    1, 2, 3, 4, 5, 6, 7, sizeof(long) == 8 ? 8 : 6, sizeof(long) == 8 ? 9 : 7, 8, 9, 10, 11
};

/* Code that only reads an array takes one that may be written, too. */
static int fits(const uint16_t *code, const uint16_t *given, int n) {
    for (int i = 0; i < n; i++)
        if (code[i] != given[i] && !(given[i] & ARRAY && code[i] == (given[i] | 1))) return 0;
    return 1;
}

static int lay_out(Arguments *out, Object *tuple) {
    Size length = PyTuple_Size(tuple);
    for (Size i = 0; i < length; i++) {
        Object *item = PyTuple_GetItem(tuple, i);
        if (out->num_words + 1 + 2 * MAX_AXES > MAX_WORDS || out->num_kinds == MAX_WORDS) return 0;
        uint16_t *kind = &out->kinds[out->num_kinds++];
        int64_t *word = &out->words[out->num_words];
        if (item->type == array_type) {
            Array *array = (Array *)item;
            DType *dtype = (DType *)array->dtype;
            int n = array->num_axes;
            if ((unsigned)dtype->number >= sizeof ELEMENTS || n > MAX_AXES || !(array->flags & ALIGNED)) return 0;
            if (dtype->byte_order != '=' && dtype->byte_order != '|') return 0;
            int layout = array->flags & C_CONTIGUOUS ? 0 : array->flags & F_CONTIGUOUS ? 1 : 2;
            int is_read_only = !(array->flags & WRITEABLE);
            *kind = (uint16_t)(ARRAY | ELEMENTS[dtype->number] << 8 | n << 4 | layout << 1 | is_read_only);
            *word = (int64_t)(intptr_t)array->data;
            for (int k = 0; k < n; k++) {
                word[1 + k] = array->shape[k];
                word[1 + n + k] = array->strides[k];
            }
            out->num_words += 1 + 2 * n;
        } else if (item->type == &PyBool_Type) {
            *kind = BOOL;
            *word = item == &_Py_TrueStruct;
            out->num_words++;
        } else if (PyType_GetFlags(item->type) & TUPLE_SUBCLASS) {
            *kind = (uint16_t)(TUPLE | PyTuple_Size(item));
            if (!lay_out(out, item)) return 0;
        } else if (item->type == &PyFloat_Type || PyType_IsSubtype(item->type, &PyFloat_Type)) {
            double number = PyFloat_AsDouble(item);
            *kind = FLOAT;
            __builtin_memcpy(word, &number, sizeof number);
            out->num_words++;
        } else if (item->type == float32_type) {
            double number = PyFloat_AsDouble(item);
            *kind = FLOAT32;
            __builtin_memcpy(word, &number, sizeof number);
            out->num_words++;
        } else if (item == &_Py_NoneStruct) {
            *kind = NONE;
        } else if (PyIndex_Check(item)) {
            Object *number = PyNumber_Index(item);
            if (number) {
                *word = PyLong_AsLongLong(number);
                Py_DecRef(number);
            }
            if (PyErr_Occurred()) { PyErr_Clear(); return 0; }
            *kind = INT;
            out->num_words++;
        } else return 0;
    }
    return 1;
}

static Object *result_of(char kind, const int64_t *word) {
    if (kind == 'i') return PyLong_FromLongLong(*word);
    if (kind == 'b') return PyBool_FromLong(*word & 1);
    if (kind == 'f') {
        double number;
        __builtin_memcpy(&number, word, sizeof number);
        return PyFloat_FromDouble(number);
    }
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

static Object *call(Object *self, Object *args, Object *keywords) {
    Arguments arguments;
    arguments.num_words = 1;
    arguments.num_kinds = 0;
    Entry *entry = ((Loop *)self)->entries;
    if (entry && !keywords && lay_out(&arguments, args)) {
        int n = arguments.num_kinds;
        while (entry && !(entry->num_kinds == n && fits(entry->kinds, arguments.kinds, n))) entry = entry->next;
        if (entry) {
            void *thread = PyEval_SaveThread();
            int status = entry->code(arguments.words);
            PyEval_RestoreThread(thread);
            if (status) return PyErr_Format(PyExc_RuntimeError, "a compiled loop ended with status %d", status);
            if (!entry->results[1]) return result_of(entry->results[0], arguments.words);
            Object *results = PyTuple_New(__builtin_strlen(entry->results));
            for (int i = 0; results && entry->results[i]; i++)
                PyTuple_SetItem(results, i, result_of(entry->results[i], arguments.words + i));
            return results;
        }
    }
    Object *other = PyObject_GetAttrString(self, "call_other");
    if (!other) return 0;
    Object *result = PyObject_Call(other, args, keywords);
    Py_DecRef(other);
    return result;
}

/* bind(address, kinds, results): use the code at an address for arguments of these kinds. */
static Object *bind(Object *self, Object *args) {
    unsigned long long address;
    const char *results;
    char *kinds;
    Size size;
    Object *bytes;
    if (!PyArg_ParseTuple(args, "KOs", &address, &bytes, &results)) return 0;
    if (PyBytes_AsStringAndSize(bytes, &kinds, &size)) return 0;
    Entry *entry = PyMem_Malloc(sizeof(Entry) + (size_t)size);
    if (!entry) return PyErr_NoMemory();
    entry->code = (int (*)(int64_t *))(uintptr_t)address;
    __builtin_strncpy(entry->results, results, sizeof entry->results - 1);
    entry->results[sizeof entry->results - 1] = 0;
    entry->num_kinds = (int)(size / 2);
    __builtin_memcpy(entry->kinds, kinds, (size_t)size);
    entry->next = ((Loop *)self)->entries;
    ((Loop *)self)->entries = entry;
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
}

/* level(): 4, 3, 2 or 1, the level of the x86-64 architecture that this processor and its system have; else 0. */
static Object *level(Object *self, Object *args) {
    (void)self; (void)args;
    int found = 0;
#ifdef __x86_64__
    unsigned a, b, c, d, leaf7, extended;
#define CPUID(leaf) __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(0))
#define HAS(word, bits) (((word) & (bits)) == (bits))
    CPUID(0);
    unsigned highest = a;
    CPUID(1);
    found = HAS(c, 1u | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23) ? 2 : 1;
    unsigned first = c;
    CPUID(0x80000001u);
    extended = c;
    if (found == 2 && highest >= 7 && HAS(first, 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29) && HAS(extended, 1u << 5)) {
        unsigned low, high;
        __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        CPUID(7);
        leaf7 = b;
        if (HAS(low, 6u) && HAS(leaf7, 1u << 3 | 1u << 5 | 1u << 8)) {
            found = 3;
            if (HAS(low, 0xE6u) && HAS(leaf7, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31)) found = 4;
        }
    }
#endif
    return PyLong_FromLongLong(found);
}

/* share(number, address): give XLA a loop by a number. Returns the address of `on_call`. */
typedef struct shared { struct shared *next; int64_t number; int (*code)(int64_t *); } Shared;
static Shared *shared_loops;
static void *on_call(void *);

static Object *share(Object *self, Object *args) {
    (void)self;
    long long number;
    unsigned long long address;
    if (!PyArg_ParseTuple(args, "LK", &number, &address)) return 0;
    Shared *loop = PyMem_Malloc(sizeof(Shared));
    if (!loop) return PyErr_NoMemory();
    *loop = (Shared){shared_loops, number, (int (*)(int64_t *))(uintptr_t)address};
    shared_loops = loop;
    return PyLong_FromLongLong((long long)(intptr_t)on_call);
}

/* What XLA passes to a function (xla/ffi/api/c_api.h, version 0.3), as far as it is read here. */
typedef struct { size_t size; void *extension; int type; void *data; int64_t num_axes, *shape; } Buffer;
typedef struct { size_t size; void *extension; int64_t count; int *types; Buffer **items; } Buffers;
typedef struct { int type; const int64_t *value; } Scalar;
typedef struct { int type; size_t count; void *data; } List;
typedef struct { size_t size; void *extension; int64_t count; int *types; void **names, **items; } Attributes;
typedef struct { size_t size; void *extension; const char *message; int code; } Error;
typedef struct { size_t sizes[5]; void *internal; void *(*error)(Error *); } Xla;
typedef struct { size_t sizes[3]; int major, minor; } Metadata;
typedef struct { size_t size; int type; void *next; Metadata *metadata; } Extension;
typedef struct {
    size_t size; Extension *extension; const Xla *xla; void *context; int stage;
    Buffers arguments, results; Attributes attributes;
} Frame;
enum { METADATA = 1, UINT32 = 8, INTERNAL = 13 };

/* The shape of a buffer is that of the batch, `num_axes` long, and one axis more for several numbers a game.
   Such uint32 are pairs, an int64 each. */
static int64_t *lay_out_buffer(int64_t *word, const Buffer *buffer, int64_t num_axes) {
    int64_t num_games = 1, is_list = buffer->num_axes > num_axes;
    for (int64_t k = 0; k < num_axes; k++) num_games *= buffer->shape[k];
    word[0] = (int64_t)(intptr_t)buffer->data;
    word[1] = num_games;
    if (is_list) word[2] = buffer->shape[num_axes] >> (buffer->type == UINT32);
    return word + (is_list ? 5 : 3);
}

/* What XLA calls. The loop gets spec, actions, all arguments and all results; if `in_place`, the first result
   begins as a copy of the first argument, and takes its place. XLA sorts the attributes by name. */
static void *on_call(void *given) {
    Frame *frame = given;
    if (frame->extension && frame->extension->type == METADATA) {
        frame->extension->metadata->major = 0;
        frame->extension->metadata->minor = 3;
        return 0;
    }
    void **attributes = frame->attributes.items;
    const List *actions = attributes[0], *spec = attributes[3];
    int64_t in_place = *((Scalar *)attributes[1])->value, number = *((Scalar *)attributes[2])->value;
    const Buffers *all[] = {&frame->arguments, &frame->results};
    const char *message = "this process has not loaded the loop: import tienlen_bridges.jax first";
    Shared *loop = shared_loops;
    while (loop && loop->number != number) loop = loop->next;
    if (loop) {
        int64_t words[128], *word = words + 1, num_axes = all[0]->items[0]->num_axes;
        for (int i = 0; i < 2; i++)
            for (int64_t k = 0; k < all[i]->count; k++)
                if (all[i]->items[k]->num_axes < num_axes) num_axes = all[i]->items[k]->num_axes;
        const List *lists[] = {spec, actions};
        for (int i = 0; i < 2; i++, word += 3) {
            word[0] = (int64_t)(intptr_t)lists[i]->data;
            word[1] = (int64_t)lists[i]->count;
        }
        if (in_place) {
            const Buffer *from = all[0]->items[0], *to = all[1]->items[0];
            size_t size = 4;
            for (int64_t k = 0; k < from->num_axes; k++) size *= (size_t)from->shape[k];
            if (from->data != to->data) __builtin_memcpy(to->data, from->data, size);
        }
        for (int i = 0; i < 2; i++)
            for (int64_t k = i == 0 && in_place; k < all[i]->count; k++)
                word = lay_out_buffer(word, all[i]->items[k], num_axes);
        if (!loop->code(words)) return 0;
        message = "a compiled loop failed";
    }
    Error error = {sizeof error, 0, message, INTERNAL};
    return frame->xla->error(&error);
}

static Method METHODS[] = {{"bind", bind, VARARGS, 0}, {0}};
static Slot SLOTS[] = {{TP_CALL, (void *)call}, {TP_METHODS, METHODS}, {0}};
static TypeSpec LOOP = {"calls.Loop", sizeof(Loop), 0, DEFAULT_AND_BASE_TYPE, SLOTS};
static Method FUNCTIONS[] = {{"level", level, VARARGS, 0}, {"share", share, VARARGS, 0}, {0}};
static Module MODULE = {.base = {.head = {1, 0}}, .name = "calls", .size = -1, .methods = FUNCTIONS};

EXPORT Object *PyInit_calls(void) {
    Object *numpy = PyImport_ImportModule("numpy");
    if (!numpy || !(array_type = PyObject_GetAttrString(numpy, "ndarray"))
        || !(float32_type = PyObject_GetAttrString(numpy, "float32"))) return 0;
    Object *module = PyModule_Create2(&MODULE, 3);
    Object *type = PyType_FromSpec(&LOOP);
    if (!module || !type || PyModule_AddObjectRef(module, "Loop", type)) return 0;
    return module;
}
